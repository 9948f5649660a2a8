/** The note of the last backup: read at each scrape, whatever is in its place. */

import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { measureBackup } from '../metrics/measure-backup.ts'
import { createRegistry } from '../metrics/registry.ts'
import { createFakeClock } from '../testing/index.ts'
import { noteBackup, readLastBackup } from './last-backup.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'last-backup-'))
  path = join(folder, 'last-backup')
})
afterEach(() => rmSync(folder, { recursive: true }))

const at = Date.parse('2026-11-22T10:00:00.000Z')

it('is what was noted last', async () => {
  expect(readLastBackup(folder)).toBe(undefined)
  await noteBackup(folder, at - 1000)
  await noteBackup(folder, at)
  expect(readLastBackup(folder)).toBe(at)
})

it.each<[string, () => void]>([
  ['is empty', () => writeFileSync(path, '')],
  ['is no time', () => writeFileSync(path, '\u001b[2J')],
  ['is a folder', () => mkdirSync(path)],
  ['is a pipe without a writer', () => void spawnSync('mkfifo', [path])],
  [
    'is a link to another file',
    () => {
      writeFileSync(join(folder, 'other'), new Date(at).toISOString())
      symlinkSync('other', path)
    },
  ],
  ['is large', () => writeFileSync(path, Buffer.alloc(1_000_000, 'x'))],
])('is unknown if the file %s', (_, make) => {
  make()
  expect(readLastBackup(folder)).toBe(undefined)
})

it('holds no file open, whatever it is', async () => {
  /** The lowest number without a file. */
  const free = () => {
    const file = openSync(folder, 'r')
    closeSync(file)
    return file
  }
  await noteBackup(folder, at)
  mkdirSync(join(folder, 'other/last-backup'), { recursive: true })
  const before = free()
  // More than other parts of the process could open meanwhile.
  for (let each = 0; each < 200; each++) {
    readLastBackup(folder)
    readLastBackup(join(folder, 'other'))
  }
  expect(free() - before).toBeLessThan(100)
})

it('has an age, which is unknown if it seems to be made later than now', async () => {
  const clock = { ...createFakeClock(), now: () => at + 5000 }
  const registry = createRegistry()
  measureBackup(registry, folder, clock)
  const samples = () => registry.collect().flatMap((family) => ('samples' in family ? family.samples : []))
  expect(samples()).toEqual([])
  await noteBackup(folder, at)
  expect(samples()).toEqual([{ labels: {}, value: 5 }])
  await noteBackup(folder, at + 30_000)
  expect(samples()).toEqual([{ labels: {}, value: 0 }])
  await noteBackup(folder, at + 86_400_000)
  expect(samples()).toEqual([])
})
