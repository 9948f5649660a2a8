import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { findEntry, needsBundling } from './entry.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

function find(files: readonly string[], main?: unknown): string {
  for (const each of files) {
    mkdirSync(dirname(join(folder.path, each)), { recursive: true })
    writeFileSync(join(folder.path, each), '')
  }
  try {
    return findEntry(folder.path, main)
  } catch (cause) {
    return (cause as Error).message.replaceAll(folder.path, '<folder>')
  }
}
const neither = '<folder> holds neither index.ts nor index.js nor index.wasm'

describe('the entry of a function', () => {
  it.each([
    'index.ts',
    'index.mts',
    'index.tsx',
    'index.js',
    'index.mjs',
    'index.wasm',
    'src/index.ts',
    'src/index.js',
  ])('is %s', (name) => {
    expect(find([name, 'other.ts'])).toBe(name)
  })

  it('is in the folder itself rather than in src', () => {
    expect(find(['src/index.ts', 'index.js'])).toBe('index.js')
  })

  it.each([
    [['index.ts', 'index.js'], '<folder> holds both index.ts and index.js'],
    [['src/index.ts', 'src/index.js'], '<folder> holds both src/index.ts and src/index.js'],
    [['a.ts'], neither],
    [['index.ts/x'], neither],
  ])('is not clear with %j', (files, message) => {
    expect(find(files)).toBe(message)
  })

  it.each(['a.ts', './a.ts', '././a.ts'])('is the main file of the package: %s', (main) => {
    expect(find(['a.ts', 'index.js'], main)).toBe('a.ts')
  })

  it.each(['a.cts', 'a.mjs', 'a.jsx', 'b/c.wasm'])('may be called %s', (main) => {
    expect(find([main, 'index.js'], main)).toBe(main)
  })

  it.each(['missing.js', 'a.txt', 'a.ts.txt', 'b', '', 7, null])(
    'is the usual one if the main file is not a source: %j',
    (main) => {
      expect(find(['index.js', 'a.txt', 'a.ts.txt', 'b/x.ts'], main)).toBe('index.js')
    },
  )

  it.each([
    '/etc/passwd',
    '../x.js',
    'a/../../x.js',
    'a\\..\\x.js',
    'c:x.js',
    'a\nb.js',
    '\0',
    'x'.repeat(1001),
  ])('does not lead out of the folder: %j', (main) => {
    expect(find(['index.js'], main)).toBe(
      `"main" of <folder>/package.json is ${JSON.stringify(main.slice(0, 200))}`,
    )
  })

  it('may have a name of 1000 characters, which no file has', () => {
    expect(find(['index.js'], 'x'.repeat(1000))).toBe('index.js')
  })

  it('may be a link to a file, and not one to a folder or to nothing', () => {
    writeFileSync(join(folder.path, 'a.ts'), '')
    symlinkSync('a.ts', join(folder.path, 'index.ts'))
    symlinkSync('.', join(folder.path, 'index.js'))
    symlinkSync('missing', join(folder.path, 'index.mjs'))
    expect(find([])).toBe('index.ts')
  })
})

describe('bundling is needed', () => {
  it.each([
    ['index.ts', '', false, true],
    ['src/index.js', '', false, true],
    ['index.wasm', 'import', true, false],
    ['index.js', 'import a from "a"', true, true],
    ['index.js', 'require("a")', true, true],
    ['index.js', 'export * from "a"', true, true],
    ['index.js', 'important, fromage', true, false],
    ['index.js', 'import a from "a"', false, false],
    ['index.js', '', true, false],
  ])('for %s with %j, package.json %s: %s', (entry, source, hasPackage, expected) => {
    expect(needsBundling(entry, Buffer.from(source), hasPackage)).toBe(expected)
  })
})
