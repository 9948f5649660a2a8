/** Counts of used bytes by day and month, and when they are written to the disk. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '@selvedge/service-kit/log'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { openUsageTotals, sumOf } from './usage-totals.ts'

const noon = (year: number, month: number, day: number) => new Date(year, month - 1, day, 12).getTime()

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let time: number
let sentBytes: number
let receivedBytes: number
const warnings: [string, object | undefined][] = []
beforeEach(async () => {
  folder = await temporaryFolder()
  time = noon(2026, 1, 5)
  sentBytes = receivedBytes = 0
  warnings.length = 0
})
afterEach(() => folder.remove())

const path = () => join(folder.path, 'usage')
const log = { warn: (text: string, details?: object) => warnings.push([text, details]) } as unknown as Log
const open = () =>
  openUsageTotals(path(), { usage: () => ({ images: { sentBytes, receivedBytes } }), now: () => time, log })
const images = (sent: number, received: number) => ({
  images: { sentBytes: sent, receivedBytes: received },
})
/** What the files of the document have. */
const stored = () => ['a', 'b'].map((slot) => readFileSync(`${path()}.${slot}`, 'latin1')).join()

it.each([
  ['the next day', [2026, 1, 6], images(2, 3), images(12, 13)],
  ['the next month', [2026, 2, 5], images(2, 3), images(2, 3)],
  ['the same month of another year', [2027, 1, 5], images(2, 3), images(2, 3)],
] as const)('%s begins at zero', async (_, [year, month, day], today, thisMonth) => {
  const totals = await open()
  sentBytes = receivedBytes = 10
  totals.update()
  time = noon(year, month, day)
  sentBytes += 2
  receivedBytes += 3
  totals.update()
  expect([totals.today(), totals.thisMonth()]).toEqual([today, thisMonth])
  await totals.close()
})

it('a day that begins while the runtime is stopped has nothing, and its month goes on', async () => {
  const before = await open()
  sentBytes = 10
  before.update()
  await before.close()
  expect(stored()).toContain('"day":"2026-01-05"')
  time = noon(2026, 1, 6)
  const after = await open()
  expect([sumOf(after.today()), sumOf(after.thisMonth())]).toEqual([0, 10])
  await after.close()
})

it.each([
  [
    'a megabyte',
    () => void (sentBytes = 400_000),
    () => void (receivedBytes = 599_999),
    () => void receivedBytes++,
  ],
  ['an hour', () => void (sentBytes = 1), () => void (time += 3_599_999), () => void time++],
])('is written after %s, and not before', async (_, ...steps) => {
  const totals = await open()
  const before = stored()
  const writes: boolean[] = []
  for (const step of steps) {
    step()
    totals.update()
    await totals.save()
    writes.push(stored() !== before)
  }
  expect(writes).toEqual([false, false, true])
  const written = stored()
  time += 10_000_000
  await totals.save()
  await totals.save(true)
  expect(stored()).toBe(written)
  await totals.close()
})

it('a failure of the disk is reported once', async () => {
  const totals = await open()
  // Its files are closed: nothing can be written any more.
  await totals.close()
  for (let at = 0; at < 2; at++) {
    sentBytes += 5
    totals.update()
    await totals.save(true)
  }
  expect(warnings).toEqual([['the counts of used bytes could not be stored', { cause: expect.any(Error) }]])
})

it('a document that is damaged is reported, and counts begin again', async () => {
  await (await open()).close()
  for (const slot of ['a', 'b']) writeFileSync(`${path()}.${slot}`, 'x'.repeat(100))
  const totals = await open()
  expect(warnings).toEqual([
    ['the counts of used bytes are damaged', { detail: expect.any(String) }],
    ...warnings.slice(1),
  ])
  expect(sumOf(totals.thisMonth())).toBe(0)
  await totals.close()
})
