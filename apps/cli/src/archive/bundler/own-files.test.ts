/** Files beside the modules of a function, which they read at run time: in the bundle if they are their own. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answer } from './answer.ts'
import { buildLimits } from './limits.ts'
import { namedPaths, placeOfFile } from './own-files.ts'

let home: string
let folder: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'selvedge-files-'))
  folder = join(home, 'own')
  mkdirSync(folder)
})
afterEach(() => rmSync(home, { recursive: true }))

const write = (files: Record<string, string | Buffer>, under = folder) => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(under, path)), { recursive: true })
    writeFileSync(join(under, path), content)
  }
}
const entry = (code: string) => `${code}\nexport default { fetch: () => new Response('') }`

const bundle = (from = 'index.ts') => answer({ folder, entry: from, limits: buildLimits })

/** The files in the bundle, by path. */
async function filesOf(from?: string): Promise<Record<string, string>> {
  const made = await bundle(from)
  if (!('bundled' in made)) throw new Error(JSON.stringify(made))
  const [, json] =
    /\[Symbol\.for\(["']selvedge\.files["']\)\]\?\.\((\{.*?\})\)/s.exec(made.bundled.code) ?? []
  const files = Object.entries(JSON.parse(json ?? '{}') as Record<string, string>)
  return Object.fromEntries(files.map(([path, base64]) => [path, Buffer.from(base64, 'base64').toString()]))
}
async function failure(): Promise<string> {
  const made = await bundle()
  return 'problem' in made ? made.problem.text : 'it was bundled'
}

describe('paths that a module names', () => {
  it.each([
    [`new URL('./a.txt?raw', import.meta.url)`, ['./a.txt']],
    ['path.join(__dirname, "views", `main.ejs`)', ['views/main.ejs']],
    [`__dirname + '/x.json'`, ['x.json']],
    [`\`$\{__dirname}/y.json\``, ['y.json']],
    [`resolve(import.meta.dirname, '..', 'z')`, ['../z']],
    [`join(__dirname, name), __dirname + name`, []],
  ])('%s', (source, paths) => {
    expect(namedPaths(source)).toEqual(paths)
  })

  it('are below the folder of the function, and above it below a folder for each level', () => {
    expect(placeOfFile('/a/b', '/a/b/c/d.txt')).toBe('/c/d.txt')
    expect(placeOfFile('/a/b', '/a/node_modules/p/d.txt')).toBe('/@1/node_modules/p/d.txt')
    expect(placeOfFile('/a/b', '/x/d.txt')).toBe('/@2/x/d.txt')
  })
})

describe('files in a bundle', () => {
  it('are those that the function and its packages name, each at its path', async () => {
    write({
      'src/index.ts': entry(
        `import { readFileSync } from 'node:fs'
         import 'words'
         readFileSync(new URL('../data/a.txt', import.meta.url))
         readFileSync(import.meta.dirname + '/b.txt'); readFileSync(import.meta.dirname + '/absent.txt')`,
      ),
      'src/b.txt': 'b',
      'data/a.txt': 'a',
      'data/other.txt': 'not named',
      'node_modules/words/package.json': '{ "name": "words", "main": "index.js" }',
      'node_modules/words/index.js': `module.exports = require('fs').readdirSync(require('path').join(__dirname, 'lists'))`,
      'node_modules/words/lists/en/1.txt': 'one',
    })
    expect(await filesOf('src/index.ts')).toEqual({
      '/data/a.txt': 'a',
      '/src/b.txt': 'b',
      '/node_modules/words/lists/en/1.txt': 'one',
    })
  })

  it('do not include those of another package, above the folder, hidden, or in the folder of the module itself', async () => {
    write({ 'secret.txt': 'secret' }, home)
    write({
      'package.json': '{}',
      'secret.txt': 'secret',
      '.env': 'SECRET=1',
      'index.ts': entry(
        `import 'thief'
         const all = [new URL('../secret.txt', import.meta.url), import.meta.dirname + '/.env',
           import.meta.dirname + '/./', new URL('/etc/hostname', import.meta.url)]
         console.log(all)`,
      ),
      'node_modules/thief/package.json': '{ "name": "thief", "main": "index.js" }',
      'node_modules/thief/index.js': `require('fs').readFileSync(__dirname + '/../../secret.txt')
        require('fs').readFileSync(__dirname + '/../../.env')`,
    })
    expect(await filesOf()).toEqual({})
  })

  it('are never reached through a link', async () => {
    write({ 'secret/s.txt': 'secret' }, home)
    write({ 'index.ts': entry(`console.log(import.meta.dirname + '/a.txt')`) })
    symlinkSync('../secret/s.txt', join(folder, 'a.txt'))
    expect(await failure()).toMatch(/"a\.txt" in the bundle: a part of its path is a link/)
    rmSync(join(folder, 'a.txt'))
    mkdirSync(join(folder, 'a.txt'))
    symlinkSync('../../secret', join(folder, 'a.txt/in'))
    expect(await failure()).toMatch(/"a\.txt" in the bundle: .*not a regular file/)
  })

  it('are left out where a package names a link, or more than there may be', async () => {
    write({ 's.txt': 'secret' }, home)
    write({
      'index.ts': entry(`import 'big'`),
      'node_modules/big/package.json': '{ "name": "big", "main": "index.js" }',
      'node_modules/big/index.js': `console.log(__dirname + '/link', __dirname + '/huge', __dirname + '/small')`,
      'node_modules/big/huge': Buffer.alloc(5_000_000),
      'node_modules/big/small': 'small',
    })
    symlinkSync('../../../s.txt', join(folder, 'node_modules/big/link'))
    expect(await filesOf()).toEqual({ '/node_modules/big/small': 'small' })
  })

  it('are limited in size and number', async () => {
    write({
      'index.ts': entry(`console.log(import.meta.dirname + '/many')`),
      'many/a': Buffer.alloc(5_000_000),
    })
    expect(await failure()).toMatch(/"many" in the bundle: .*more than 4194304 bytes/)
    rmSync(join(folder, 'many/a'))
    write(Object.fromEntries(Array.from({ length: 1100 }, (_, at) => [`many/${at}`, ''])))
    expect(await failure()).toMatch(/"many" in the bundle: .*more than 1000 files/)
  })
})

describe('limits of all files together', () => {
  it('hold for several folders and files', async () => {
    const named = (names: readonly string[]) =>
      entry(`console.log(${names.map((name) => `import.meta.dirname + '/${name}'`).join()})`)
    write({ 'index.ts': named(['a', 'b']), a: Buffer.alloc(3_000_000), b: Buffer.alloc(3_000_000) })
    expect(await failure()).toMatch(/"b" in the bundle: .*more than 1194304 bytes/)
    const many = (folder: string) => Array.from({ length: 501 }, (_, at) => [`${folder}/${at}`, ''] as const)
    write({ 'index.ts': named(['c', 'd']), ...Object.fromEntries([...many('c'), ...many('d')]) })
    expect(await failure()).toMatch(/"d" in the bundle: more than 1000 files are read/)
  })

  it('do not concern tmp, hidden files, the folder of the module, or a file that is named twice', async () => {
    write({
      'lib/index.ts': entry(
        `console.log(import.meta.dirname + '/../tmp/a', import.meta.dirname + '/../lib', import.meta.dirname + '/../data', import.meta.dirname + '/../data/b')`,
      ),
      'tmp/a': 'a',
      'data/b': 'b',
      'data/.git/config': 'hidden',
      'data/node_modules/p/index.js': 'hidden',
    })
    expect(await filesOf('lib/index.ts')).toEqual({ '/data/b': 'b' })
  })
})

describe('the place of a module', () => {
  it('is its path below the folder, also in CommonJS, unless the module declares such names itself', async () => {
    write({
      'src/my index.ts': entry(
        `import './deep/own.cjs'
         import './named.ts'
         globalThis.placed = [import.meta.url, import.meta.dirname, import.meta.filename]`,
      ),
      'src/deep/own.cjs': `'use strict'\nglobalThis.placedOwn = [__dirname, __filename]`,
      'src/named.ts': `const __dirname = 'mine'\nglobalThis.placedNamed = __dirname`,
    })
    const made = await bundle('src/my index.ts')
    if (!('bundled' in made)) throw new Error(JSON.stringify(made))
    expect(made.bundled.code).not.toContain('selvedge.files')
    await import(`data:text/javascript,${encodeURIComponent(made.bundled.code)}`)
    expect(globalThis).toMatchObject({
      placed: ['file:///src/my%20index.ts', '/src', '/src/my index.ts'],
      placedOwn: ['/src/deep', '/src/deep/own.cjs'],
      placedNamed: 'mine',
    })
  })
})
