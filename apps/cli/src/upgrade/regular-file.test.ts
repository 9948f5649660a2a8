/** Files that another user may replace by a pipe, a folder or something without an end. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openBelow } from '../../../../tests/harness/recorded-steps.ts'
import { readStart } from './regular-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-file-'))
})
afterEach(() => {
  expect(openBelow(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})

it.each([
  ['', ''],
  ['four', 'four'],
  ['fünf', 'fünf'],
  ['longer', 'longe'],
])('of %j, at most five bytes are read: %j', (content, expected) => {
  const path = join(folder, 'file')
  writeFileSync(path, content)
  expect(readStart(path, 5)).toBe(expected)
})

it('a pipe is refused at once, and so are a folder and a device', () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, folder, '/dev/zero'])
    expect(() => readStart(path, 5)).toThrow('it is not a regular file')
})
