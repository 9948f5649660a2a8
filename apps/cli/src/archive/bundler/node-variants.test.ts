/** Which variant of a package with several ones is bundled. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { resolveAsNode } from './node-variants.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
  for (const name of ['mqtt', 'hono', '@scope/mqtt']) {
    write(`node_modules/${name}/package.json`, '{"main":"node.js","browser":"browser.js"}')
    write(`node_modules/${name}/node.js`)
    write(`node_modules/${name}/lib/inner.js`)
  }
  write('index.ts')
})
afterEach(() => folder.remove())

const at = (path: string) => join(realpathSync(folder.path), path)
function write(path: string, content = ''): void {
  mkdirSync(dirname(join(folder.path, path)), { recursive: true })
  writeFileSync(join(folder.path, path), content)
}

it.each([
  ['mqtt', 'index.ts', 'node_modules/mqtt/node.js'],
  ['mqtt/lib/inner.js', 'index.ts', 'node_modules/mqtt/lib/inner.js'],
  ['./lib/inner.js', 'node_modules/mqtt/node.js', 'node_modules/mqtt/lib/inner.js'],
])('%s in %s is %s', (specifier, importer, found) => {
  expect(resolveAsNode(specifier, at(importer))).toBe(at(found))
})

it.each([
  ['hono', 'index.ts'],
  ['@scope/mqtt', 'index.ts'],
  ['./lib/inner.js', 'node_modules/hono/node.js'],
  ['./index.ts', 'index.ts'],
  ['hono', 'node_modules/mqtt/node.js'],
  ['mqtt/absent.js', 'index.ts'],
])('%s in %s is found as for a browser', (specifier, importer) => {
  expect(resolveAsNode(specifier, at(importer))).toBeUndefined()
})
