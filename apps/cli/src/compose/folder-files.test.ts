import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import { openFolder, readNamedFile } from './folder-files.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let app: string
beforeEach(async () => {
  folder = await temporaryFolder()
  app = join(folder.path, 'app')
  mkdirSync(join(app, 'sub'), { recursive: true })
  writeFileSync(join(folder.path, 'secret'), 'of the user')
  writeFileSync(join(app, 'sub/file'), 'inside')
})
afterEach(() => folder.remove())

const read = (path: string, from = app, maxBytes = 100) => openFolder(app).read(path, from, maxBytes)

it('reads a file of the folder and below it', () => {
  expect(read('sub/file')).toEqual({ bytes: Buffer.from('inside'), isProgram: false, path: 'sub/file' })
  expect(read('./sub/../sub/file').path).toBe('sub/file')
  expect(read('file', join(app, 'sub')).path).toBe('sub/file')
  expect(read('../sub/file', join(app, 'sub')).path).toBe('sub/file')
})

it.each(['../secret', '/etc/passwd', 'sub/../../secret', '', 'a\0b', '../app-other/file'])(
  'refuses %j, which is not in the folder',
  (path) => {
    expect(() => read(path)).toThrow('not in the folder')
    expect(openFolder(app).kindOf(path, app)).toBe('outside')
  },
)

it('refuses a link to a file, and a link in the path', () => {
  symlinkSync('../secret', join(app, 'link'))
  symlinkSync('..', join(app, 'up'))
  symlinkSync('sub', join(app, 'other'))
  expect(() => read('link')).toThrow('not a regular file')
  expect(() => read('up/secret')).toThrow('A part of its path is a link')
  expect(() => read('other/file')).toThrow('A part of its path is a link')
})

it('opens a folder that is a link itself: the user named it', () => {
  symlinkSync(app, join(folder.path, 'named'))
  const named = join(folder.path, 'named')
  expect(openFolder(named).read('sub/file', named, 100).bytes.toString()).toBe('inside')
})

it('does not wait for a named pipe, and reads no device', () => {
  execFileSync('mkfifo', [join(app, 'pipe')])
  expect(() => read('pipe')).toThrow('not a regular file')
  expect(() => readNamedFile(join(app, 'pipe'), 100)).toThrow('not a regular file')
  expect(() => readNamedFile('/dev/zero', 100)).toThrow('not a regular file')
  expect(() => read('sub')).toThrow('not a regular file')
})

it('names a missing file as such', () => {
  expect(() => read('missing')).toThrow(expect.objectContaining({ isMissing: true }))
  expect(() => read('sub/file/x')).toThrow(expect.objectContaining({ isMissing: false }))
})

it('reads a file up to its limit, and no more than the limits of all files', () => {
  expect(read('sub/file', app, 6).bytes).toHaveLength(6)
  expect(() => read('sub/file', app, 5)).toThrow('more than 5 bytes')
  const files = openFolder(app)
  for (let count = 0; count < 256; count += 1) files.read('sub/file', app, 100)
  expect(() => files.read('sub/file', app, 100)).toThrow('more than 256 files')
})

it('limits the bytes of all files together', () => {
  writeFileSync(join(app, 'large'), Buffer.alloc(4 * 1024 * 1024))
  const files = openFolder(app)
  const readLarge = () => files.read('large', app, 5 * 1024 * 1024)
  for (let count = 0; count < 4; count += 1) readLarge()
  expect(readLarge).toThrow('more than 16777216 bytes')
})

describe('the list of a folder', () => {
  const list = (path: string, from = app) => openFolder(app).list(path, from)

  it('has all files below it, sorted, and their bytes', () => {
    mkdirSync(join(app, 'sub/more/empty'), { recursive: true })
    writeFileSync(join(app, 'sub/more/b'), '12')
    writeFileSync(join(app, 'sub/.hidden'), '1')
    expect(list('./sub/')).toEqual({ files: ['.hidden', 'file', 'more/b'], bytes: 9 })
    expect(list('.', join(app, 'sub')).files).toHaveLength(3)
  })

  it.each(['..', '../app-other', '/etc', 'sub/../..', ''])(
    'refuses %j, which is not in the folder',
    (path) => {
      expect(() => list(path)).toThrow('not in the folder')
    },
  )

  it('refuses a folder that is a link, is behind a link, or has one in it', () => {
    mkdirSync(join(folder.path, 'outside'))
    symlinkSync('../outside', join(app, 'link'))
    expect(() => list('link')).toThrow('not in the folder')
    mkdirSync(join(folder.path, 'outside/in'))
    expect(() => list('link/in')).toThrow('not in the folder')
    symlinkSync('../../secret', join(app, 'sub/secret'))
    expect(() => list('sub')).toThrow('"secret" in it: It is a link')
  })

  it('refuses a named pipe in it', () => {
    execFileSync('mkfifo', [join(app, 'sub/pipe')])
    expect(() => list('sub')).toThrow('"pipe" in it')
  })

  it('refuses more entries and more folders in each other than its limits', () => {
    for (let at = 0; at < 999; at += 1) mkdirSync(join(app, `sub/${at}`))
    expect(list('sub').files).toEqual(['file'])
    mkdirSync(join(app, 'sub/more'))
    expect(() => list('sub')).toThrow('more than 1000 files and folders')
    mkdirSync(join(app, `deep${'/d'.repeat(15)}`), { recursive: true })
    expect(list('deep').files).toEqual([])
    mkdirSync(join(app, `deep${'/d'.repeat(16)}`), { recursive: true })
    expect(() => list('deep')).toThrow('16 folders are in each other')
  })
})
