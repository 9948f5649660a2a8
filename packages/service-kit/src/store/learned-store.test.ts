/** What was learned reaches a real document once the disk works again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createDiskFaults, type DiskFaults } from '../testing/disk-faults.ts'
import { type DocumentStore, openDocument } from './document.ts'
import { createLearnedStore, type LearnedStore } from './learned-store.ts'

type Values = Readonly<Record<string, number>>
const format = { version: 1, initial: {}, read: (json: unknown) => json as Values }

let folder: string
let faults: DiskFaults
let document: DocumentStore<Values>
let learned: LearnedStore
let outcomes: [string, boolean][]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'learned-'))
  faults = await createDiskFaults()
  document = await openDocument(join(folder, 'values'), format)
  outcomes = []
  learned = createLearnedStore({
    where: 'test.save',
    times: { firstMs: 1, maxMs: 4 },
    onOutcome: (key, cause) => outcomes.push([key, cause === undefined]),
  })
})
afterEach(async () => {
  faults.repair()
  await learned.stop()
  await document.close()
  rmSync(folder, { recursive: true })
})

const save = (key: string, value: number) =>
  learned.save(key, () => document.update((values) => ({ ...values, [key]: value })))

/** As after a restart. */
async function stored(): Promise<Values> {
  const again = await openDocument(join(folder, 'values'), format)
  await again.close()
  return again.value
}

it('is on the disk when it is saved', async () => {
  await save('a', 1)
  expect([await stored(), learned.isPending('a'), outcomes]).toEqual([{ a: 1 }, false, [['a', true]]])
})

it('is on the disk once the disk works again, the newest of each key', async () => {
  faults.fail('write')
  await expect(save('a', 1)).rejects.toThrow('no space left')
  await expect(save('a', 2)).rejects.toThrow('no space left')
  await expect(save('b', 3)).rejects.toThrow('no space left')
  expect([learned.isPending('a'), learned.isPending('b'), learned.isPending('c')]).toEqual([
    true,
    true,
    false,
  ])
  // Attempts fail meanwhile, and are followed by others.
  await expect.poll(() => outcomes.length).toBeGreaterThan(8)
  faults.repair()
  await expect.poll(() => learned.isPending('a') || learned.isPending('b')).toBe(false)
  expect(await stored()).toEqual({ a: 2, b: 3 })
})

it('never writes an older value after a newer one', async () => {
  faults.hold('write')
  const first = save('a', 1)
  const second = save('a', 2)
  faults.repair()
  await Promise.all([first, second])
  expect(await stored()).toEqual({ a: 2 })
})

it('is tried once more when it stops, and never after that', async () => {
  faults.fail('write')
  await expect(save('a', 1)).rejects.toThrow('no space left')
  faults.repair()
  await learned.stop()
  expect(await stored()).toEqual({ a: 1 })

  faults.fail('write')
  await expect(save('a', 2)).rejects.toThrow('no space left')
  await learned.stop()
  const attempts = outcomes.length
  faults.repair()
  await new Promise(setImmediate)
  expect([outcomes.length, await stored()]).toEqual([attempts, { a: 1 }])
})
