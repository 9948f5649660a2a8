import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
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
