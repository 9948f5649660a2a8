/** Packages with native code, as they are in the registry: how they load it cannot be seen in the source that is bundled. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Builder, createBuilder } from './bundler/builder.ts'
import { packFolder } from './pack.ts'

let folder: string
let builder: Builder
beforeAll(() => {
  builder = createBuilder()
})
afterAll(() => builder.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-native-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(files: Readonly<Record<string, string>>, under = ''): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, under, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
}
const pack = () => packFolder(folder, { builder })

const packages: [string, Readonly<Record<string, string>>][] = [
  [
    'sharp',
    {
      'package.json':
        '{ "exports": { ".": { "import": "./dist/index.mjs", "require": "./dist/index.mjs" } } }',
      'src/binding.gyp': '{}',
      'dist/index.mjs': `import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)
        export default () => require('@img/sharp-' + process.platform + '-' + process.arch + '/sharp.node')`,
    },
  ],
  [
    'better-sqlite3',
    {
      'package.json': '{ "main": "lib/index.js", "gypfile": false }',
      'binding.gyp': '{}',
      'lib/index.js': `const path = require('path')
        const open = () => require(path.join(__dirname, '..', 'build', 'Release', 'better_sqlite3.node'))
        module.exports = class { constructor() { open() } }`,
    },
  ],
  ['bcrypt', { 'package.json': '{ "gypfile": true }', 'index.js': 'module.exports = {}' }],
  [
    '@node-rs/argon2',
    { 'package.json': '{ "napi": { "binaryName": "argon2" } }', 'index.js': 'module.exports = {}' },
  ],
]

it.each(packages)('a function may not import %s', async (name, files) => {
  write(files, `node_modules/${name}`)
  write({
    'index.ts': `import found from '${name}'\nexport default { fetch: () => new Response(typeof found) }`,
  })
  await expect(pack()).rejects.toThrow(
    `index.ts:1:19: cannot import "${name}": ${name} is or loads native code, which functions cannot run`,
  )
})

it.each(packages)('a package that a function imports may depend on %s', async (name, files) => {
  write(files, `node_modules/${name}`)
  write({
    'index.ts': `import outer from 'outer'\nexport default { fetch: () => new Response(typeof outer) }`,
    'node_modules/outer/index.js': `module.exports = () => require('${name}')`,
  })
  expect((await pack()).archive.length).toBeGreaterThan(0)
})

it.each([
  ['declares nothing', '{ "gypfile": false }'],
  ['has another value there', '{ "napi": "no", "gypfile": "true" }'],
  ['has a package.json of another form', '[]'],
])('a package without native code is bundled, also if it %s', async (_, declared) => {
  write({
    'index.ts': `import plain from 'plain'\nexport default { fetch: () => new Response(plain) }`,
    'node_modules/plain/package.json': declared,
    'node_modules/plain/index.js': "module.exports = 'plain'",
    // Of another package.
    'binding.gyp': '{}',
    'node_modules/other/binding.gyp': '{}',
  })
  expect((await pack()).archive.length).toBeGreaterThan(0)
})
