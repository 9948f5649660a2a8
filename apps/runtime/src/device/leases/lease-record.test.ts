/** The record of who works on leases: how uses are counted together, and what a report removes. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLeaseRecord, type RecordedUse, withoutReported, withUse } from './lease-record.ts'

const use = { jti: 'j', sid: 's', client_id: 'c', account_id: 'a', last_at: 10, expires_at: 100 }
const recorded: RecordedUse = { ...use, count: 3, first_at: 5 }

it('counts the uses of one sign-in and client of an account together, whatever lease they had', () => {
  const later = { ...use, jti: 'k', last_at: 20, expires_at: 200 }
  expect(withUse([recorded], later)).toEqual([{ ...later, count: 4, first_at: 5 }])
})

it.each(['sid', 'client_id', 'account_id'])('counts uses with another %s by themselves', (name) => {
  const another = { ...use, [name]: 'x' }
  expect(withUse([recorded], another)).toEqual([recorded, { ...another, count: 1, first_at: 10 }])
})

it('removes what was reported, and leaves what came since', () => {
  const sent = { ...use, count: 3, first_at: 5 }
  expect(withoutReported([recorded], [sent])).toEqual([])
  const continued = { ...recorded, count: 5, last_at: 30 }
  expect(withoutReported([continued], [sent])).toEqual([{ ...continued, count: 2, first_at: 10 }])
})

it.each(['jti', 'sid', 'client_id'])('removes nothing for a report with another %s', (name) => {
  const sent = { ...use, count: 3, first_at: 5, [name]: 'x' }
  expect(withoutReported([recorded], [sent])).toEqual([recorded])
})

it('is a document of its own, and its damage is a notice', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lease-record-'))
  await (await openLeaseRecord(folder)).close()
  expect(readdirSync(folder).sort()).toEqual(['leases.a', 'leases.b'])
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), 'damaged')
  const record = await openLeaseRecord(folder)
  expect(record.value.uses).toEqual([])
  expect(record.notices).toMatchObject([{ kind: 'reset', detail: expect.stringContaining('leases') }])
  await record.close()
  rmSync(folder, { recursive: true })
})
