/** When a list was confirmed: by the time that the device counts, and what of it is written. A real document. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDiskFaults, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Confirmations, createConfirmations } from './confirmations.ts'
import { type LeaseStore, openLeaseRecord } from './lease-record.ts'

const one = 'https://one.example'
const other = 'https://other.example'
const hour = 3_600_000

let folder: string
let record: LeaseStore
let confirmations: Confirmations
let log: ReturnType<typeof createMemoryLog>
/** What the clock shows, and what the device counts. */
let time: { now: number; elapsed: number; state: 'trusted' | 'held' }
const pass = (ms: number) => {
  time = { ...time, now: time.now + ms, elapsed: time.elapsed + ms }
}
const confirm = async (issuer = one) => {
  confirmations.noteConfirmed(issuer)
  await record.settled()
}
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'confirmations-'))
  log = createMemoryLog()
  record = await openLeaseRecord(folder)
  time = { now: 1_000_000_000_000, elapsed: 5000, state: 'trusted' }
  const clock = { now: () => time.now, elapsed: () => time.elapsed, state: () => time.state } as never
  confirmations = createConfirmations({ clock, record, log, retryTimes: { firstMs: 1, maxMs: 4 } })
})
afterEach(async () => {
  await confirmations.stop()
  await record.close()
  rmSync(folder, { recursive: true })
})

it('an issuer that never confirmed its list did so at no time', async () => {
  await confirm(other)
  expect(confirmations.confirmedAt(one)).toBe(0)
})

it('a clock that is set changes nothing about how long ago it was', async () => {
  await confirm()
  pass(hour)
  expect(time.now - confirmations.confirmedAt(one)).toBe(hour)
  time = { ...time, now: time.now + 1000 * hour }
  expect(time.now - confirmations.confirmedAt(one)).toBe(hour)
})

it('writes the time once in six hours for each issuer', async () => {
  const first = time.now
  await confirm()
  expect(record.value.confirmedAt).toEqual({ [one]: first })
  pass(6 * hour - 1)
  await confirm()
  await confirm(other)
  expect(record.value.confirmedAt).toEqual({ [one]: first, [other]: first + 6 * hour - 1 })
  pass(1)
  await confirm()
  expect(record.value.confirmedAt[one]).toBe(first + 6 * hour)
})

it('replaces a written time that is more than six hours in the future', async () => {
  await record.update((value) => ({ ...value, confirmedAt: { [one]: time.now + 6 * hour } }))
  await confirm()
  expect(record.value.confirmedAt[one]).toBe(time.now)
})

it('writes nothing while the clock is not confirmed', async () => {
  time = { ...time, state: 'held' }
  await confirm()
  expect([record.value.confirmedAt, confirmations.confirmedAt(one)]).toEqual([{}, time.now])
})

it('counts without a time on the disk, logs why it could not be written, and writes it once the disk works again', async () => {
  const faults = await createDiskFaults()
  faults.fail('write')
  confirmations.noteConfirmed(one)
  await expect.poll(() => log.lines.length).toBe(1)
  faults.repair()
  expect(JSON.parse(log.lines[0]!)).toMatchObject({
    level: 'warn',
    cause: { message: expect.stringContaining('no space left') },
  })
  expect(confirmations.confirmedAt(one)).toBe(time.now)
  await expect.poll(() => record.value.confirmedAt).toEqual({ [one]: time.now })
})
