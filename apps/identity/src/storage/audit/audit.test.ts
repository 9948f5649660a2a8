/** How long the audit log is, whatever others do. */

import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../schema.ts'
import { type Audit, createAudit } from './audit.ts'

const day = 86_400_000
const clock = createFakeClock()
let store: SqlStore
let audit: Audit
beforeEach(async () => {
  store = openMemoryStore(migrations)
  audit = createAudit(store, clock, { keepMs: 30 * day, perAccount: 10 })
})
afterEach(async () => {
  await store.close()
})

const record = (subject: string, outcome: 'ok' | 'refused' = 'ok', accountId = 'a1') =>
  audit.record({ accountId, actor: 'ada', action: 'token.revoke', subject, address: '', outcome })
const subjects = async (accountId = 'a1') => (await audit.list(accountId, 1000)).map(({ subject }) => subject)
const sweep = async () => {
  for (const { run } of audit.tasks) await run(clock.now())
}

it('removes rows that are too old', async () => {
  await record('old')
  clock.advance(29 * day)
  await record('new')
  await sweep()
  expect(await subjects()).toEqual(['new', 'old'])
  clock.advance(2 * day)
  await sweep()
  expect(await subjects()).toEqual(['new'])
})

it('keeps the newest rows of each account', async () => {
  await record('other', 'ok', 'a2')
  for (let at = 0; at < 1300; at++) {
    clock.advance(1)
    await record(`${at}`)
  }
  await sweep()
  expect(await subjects()).toEqual(Array.from({ length: 10 }, (_, at) => `${1299 - at}`))
  expect(await subjects('a2')).toEqual(['other'])
})

it('lists what happened within one millisecond in its order', async () => {
  const happened = Array.from({ length: 40 }, (_, at) => `${at}`)
  for (const each of happened) await record(each)
  expect(await subjects()).toEqual(happened.toReversed())
})

it('refusals, which anyone can bring about, displace no record of what was done', async () => {
  await record('done')
  for (let at = 0; at < 50; at++) {
    clock.advance(1)
    await record(`refused ${at}`, 'refused')
  }
  await sweep()
  expect(await subjects()).toContain('done')
  expect(await subjects()).toHaveLength(11)
})

it('finds what to remove by an index', async () => {
  const plan = await store.run(
    sql`EXPLAIN QUERY PLAN SELECT audit_id FROM audit WHERE account_id = 'a' AND outcome = 'ok' ORDER BY audit_id DESC LIMIT 5 OFFSET 10`,
  )
  expect(JSON.stringify(plan)).toContain('audit_outcome')
  expect(JSON.stringify(plan)).not.toContain('SCAN')
})
