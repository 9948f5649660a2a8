/** Which variant of a package with several ones is bundled. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { createNodeVariants, readChosenPackages } from './node-variants.ts'

const names = ['mqtt', 'hono', '@scope/mqtt', 'node-opcua-common', 'my-own', 'my-own-part', 'lacking']
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
  for (const name of names) {
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
  ['node-opcua-common', 'node_modules/hono/node.js', 'node_modules/node-opcua-common/node.js'],
])('%s in %s is %s', (specifier, importer, found) => {
  expect(createNodeVariants().resolve(specifier, at(importer))).toBe(at(found))
})

it.each([
  ['hono', 'index.ts'],
  ['@scope/mqtt', 'index.ts'],
  ['./lib/inner.js', 'node_modules/hono/node.js'],
  ['./index.ts', 'index.ts'],
  ['hono', 'node_modules/mqtt/node.js'],
  ['mqtt/absent.js', 'index.ts'],
])('%s in %s is found as for a browser', (specifier, importer) => {
  expect(createNodeVariants().resolve(specifier, at(importer))).toBeUndefined()
})

it.each([
  [['hono'], 'hono', true],
  [['hono'], 'my-own', false],
  [['my-own'], 'my-own-part', false],
  [['my-own*'], 'my-own-part', true],
  [['my-own*'], 'my-own', true],
  [['@scope/*'], '@scope/mqtt', true],
])('the author who lists %j chooses %s: %s', (chosen, name, isChosen) => {
  const found = isChosen ? at(`node_modules/${name}/node.js`) : undefined
  expect(createNodeVariants(chosen).resolve(name, at('index.ts'))).toBe(found)
})

it('a build adds up to ten packages, each once', () => {
  const variants = createNodeVariants(['chosen'])
  expect(variants.resolve('lacking', at('index.ts'))).toBeUndefined()
  expect(variants.add('lacking')).toBe(true)
  expect(variants.resolve('lacking', at('index.ts'))).toBe(at('node_modules/lacking/node.js'))
  expect(['lacking', 'mqtt', 'chosen'].map(variants.add)).toEqual([false, false, false])
  const more = Array.from({ length: 9 }, (_, each) => `p${each}`)
  expect(more.map(variants.add)).toEqual(more.map(() => true))
  expect(variants.add('eleventh')).toBe(false)
})

describe('selvedge.nodePackages of package.json', () => {
  const read = (content: string) => {
    write('package.json', content)
    return readChosenPackages(folder.path)
  }

  it('is a list of names', () => {
    expect(read('{"selvedge":{"nodePackages":["a","@b/c","d-*"]}}')).toEqual(['a', '@b/c', 'd-*'])
  })

  it.each(['{}', '[]', 'null', '{"selvedge":null}', '{"selvedge":{}}'])('may be left out: %s', (content) => {
    expect(read(content)).toEqual([])
  })

  it('is empty without a file', () => {
    expect(readChosenPackages(folder.path)).toEqual([])
    mkdirSync(join(folder.path, 'package.json'))
    expect(readChosenPackages(folder.path)).toEqual([])
  })

  it.each([
    ['"a"', 'selvedge.nodePackages must be a list of at most 100 names'],
    [JSON.stringify(Array(101).fill('a')), 'selvedge.nodePackages must be a list of at most 100 names'],
    ['[1]', 'selvedge.nodePackages has 1, which is no name of a package'],
    ['["*"]', 'selvedge.nodePackages has "*", which is no name of a package'],
    ['["../a"]', 'selvedge.nodePackages has "../a", which is no name of a package'],
    ['["a*b"]', 'selvedge.nodePackages has "a*b", which is no name of a package'],
    [`["${'a'.repeat(215)}"]`, /which is no name of a package$/],
  ])('is not %s', (list, why) => {
    expect(() => read(`{"selvedge":{"nodePackages":${list}}}`)).toThrow(why)
  })

  it('is not in a file of more than 1 MiB', () => {
    expect(() => read(`{}${' '.repeat(2 ** 20)}`)).toThrow('it has 1048578 bytes, and may have 1048576')
  })
})
