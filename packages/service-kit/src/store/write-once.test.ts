import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { recordSyncs } from '../testing/record-syncs.ts'
import { makeFolder, makeTransientFolder } from './make-folder.ts'
import { readOrWriteOnce, writeOnce } from './write-once.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'write-once-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const path = () => join(folder, 'key')

describe('a file that is written once', () => {
  it('is made once and read from then on', async () => {
    expect(String(await readOrWriteOnce(path(), () => 'first'))).toBe('first')
    expect(String(await readOrWriteOnce(path(), () => 'second'))).toBe('first')
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['key'])
  })

  it('is on the disk before it gets its name, and the name before it is used', async () => {
    const syncs = await recordSyncs()
    onTestFinished(syncs.stop)
    await readOrWriteOnce(path(), () => 'first')
    expect(syncs.paths.map((each) => relative(folder, each))).toEqual([
      expect.stringMatching(/^\.key\.[\da-f-]{36}\.draft$/),
      '',
    ])
  })

  it('that an earlier run made has its name on the disk before it is read', async () => {
    writeFileSync(path(), 'first')
    const syncs = await recordSyncs()
    onTestFinished(syncs.stop)
    expect(String(await readOrWriteOnce(path(), () => 'second'))).toBe('first')
    expect(syncs.paths).toEqual([folder])
  })

  it('leaves no file if the program exits or fails while it writes', async () => {
    writeFileSync(join(folder, '.key.0000.draft'), 'half')
    writeFileSync(join(folder, '.other.0000.draft'), 'not mine')
    await expect(writeOnce(path(), 1n as never)).rejects.toThrow()
    expect(readdirSync(folder)).toEqual(['.other.0000.draft'])
    await writeOnce(path(), 'whole')
    expect(readFileSync(path(), 'utf8')).toBe('whole')
  })
})

describe('a folder for state', () => {
  /** Runs what makes a folder, and gives the folders that were made and synced, in this order. */
  function callsOf(work: () => void): string[] {
    const { mkdirSync, openSync, fsyncSync } = fs
    const real = { mkdirSync, openSync, fsyncSync }
    const calls: string[] = []
    const opened = new Map<number, string>()
    const short = (name: fs.PathLike) => relative(folder, String(name)) || '.'
    fs.mkdirSync = ((name: string, options: object) => {
      calls.push(`make ${short(name)}`)
      return real.mkdirSync(name, options)
    }) as typeof fs.mkdirSync
    fs.openSync = ((name: string, ...rest: [string]) => {
      const file = real.openSync(name, ...rest)
      opened.set(file, name)
      return file
    }) as typeof fs.openSync
    fs.fsyncSync = (file) => {
      calls.push(`sync ${short(opened.get(file)!)}`)
      real.fsyncSync(file)
    }
    syncBuiltinESMExports()
    try {
      work()
    } finally {
      Object.assign(fs, real)
      syncBuiltinESMExports()
    }
    return calls.filter((each) => !each.endsWith('..'))
  }

  it('is synced in its parent, and so is each folder above it that was made', () =>
    expect(callsOf(() => makeFolder(join(folder, 'a/b')))).toEqual([
      'make a',
      'sync .',
      'make a/b',
      'sync a',
    ]))

  it('is synced in its parent if an earlier run created it and exited before the sync', () => {
    makeTransientFolder(join(folder, 'a'))
    expect(callsOf(() => makeFolder(join(folder, 'a')))).toEqual(['sync .'])
    expect(callsOf(() => makeFolder(join(folder, 'a/b')))).toEqual(['sync .', 'make a/b', 'sync a'])
  })

  it('is not synced where it is for sockets only', () =>
    expect(callsOf(() => makeTransientFolder(join(folder, 'a/b')))).toEqual(['make a', 'make a/b']))
})
