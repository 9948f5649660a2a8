import fs, { existsSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { createLateFolder } from './late-folder.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())
const place = () => join(folder.path, 'late')

it('is empty and not on the disk until something is to be written', async () => {
  const late = createLateFolder(place())
  expect(await late.names()).toEqual([])
  expect(existsSync(place())).toBe(false)
  late.make()
  writeFileSync(join(place(), 'one'), '')
  expect(await late.names()).toEqual(['one'])
})

it('reports what is in its place and no folder: what was stored there would seem to be gone', async () => {
  writeFileSync(place(), '')
  const late = createLateFolder(place())
  await expect(late.names()).rejects.toMatchObject({ code: 'ENOTDIR' })
  expect(() => late.make()).toThrow()
})

it('has its name synced by the first write, and costs later ones nothing', () => {
  const { fsyncSync } = fs
  let syncs = 0
  fs.fsyncSync = (file) => {
    syncs++
    fsyncSync(file)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.fsyncSync = fsyncSync
    syncBuiltinESMExports()
  })
  const late = createLateFolder(place())
  expect(syncs).toBe(0)
  late.make()
  const first = syncs
  expect(first).toBeGreaterThan(0)
  late.make()
  expect(syncs).toBe(first)
})
