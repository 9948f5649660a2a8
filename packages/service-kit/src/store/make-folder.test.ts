import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder } from './make-folder.ts'

it('makes a folder and those above it for this user alone, and leaves one that is there', () => {
  const above = mkdtempSync(join(tmpdir(), 'selvedge-'))
  const folder = join(above, 'a/b')
  makeFolder(folder)
  makeFolder(folder)
  expect(existsSync(folder)).toBe(true)
  expect(statSync(join(above, 'a')).mode & 0o777).toBe(0o700)
  rmSync(above, { recursive: true })
})

it.each(['/proc/selvedge', '/proc/selvedge/runtime', '/dev/null/selvedge'])(
  'fails if the file system lets no user make a folder: %s',
  (path) => expect(() => makeFolder(path)).toThrow(/ENOENT|ENOTDIR|EEXIST/),
)
