/** What removes expired rows: in small steps, by an index, and at its own pace. */

import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createOneTime } from '../../registry/credentials/one-time.ts'
import { removeExpiredRows } from '../../registry/expired-rows.ts'
import { createDeviceRequests } from '../../registry/sign-ins/device-requests.ts'
import { migrations } from '../schema.ts'
import { createSweep } from './sweep.ts'

const clock = createFakeClock()
let store: SqlStore
beforeEach(async () => {
  store = openMemoryStore(migrations)
})
afterEach(async () => {
  await store.close()
})

it('finds the rows of every table by an index', async () => {
  const statements: string[] = []
  const spied = {
    ...store,
    run: async (statement: Statement) => {
      statements.push(statement.sql)
      return []
    },
  } as unknown as SqlStore
  const tasks = removeExpiredRows(spied)
  for (const { run } of tasks) await run(0)
  expect(statements).toHaveLength(tasks.length)
  for (const each of statements) {
    const values = each
      .split('?')
      .slice(1)
      .map(() => 1)
    const plan = JSON.stringify(await store.run({ sql: `EXPLAIN QUERY PLAN ${each}`, values }))
    expect(plan, each).not.toContain('SCAN')
  }
})

it('removes a crowd of rows in small statements, and an insert removes nothing', async () => {
  const oneTime = createOneTime(store, clock)
  const requests = createDeviceRequests(store, clock, 10, () => 0)
  const request = { clientId: 'c', scope: '', jkt: '', address: '', userAgent: '' }
  for (let at = 0; at < 1200; at++) await oneTime.create('passkey-sign-in', {}, 300)
  await requests.create(request)
  clock.advance(3 * 86_400_000)
  const count = async (table: string) =>
    Number((await store.run({ sql: `SELECT COUNT(*) AS n FROM ${table}`, values: [] }))[0]!.n)
  await oneTime.create('passkey-sign-in', {}, 300)
  await requests.create(request)
  expect(await count('one_time')).toBe(1201)
  let largest = 0
  const counting: SqlStore = {
    ...store,
    run: async (statement) => {
      const rows = await store.run(statement)
      largest = Math.max(largest, rows.length)
      return rows as never
    },
  }
  for (const { run } of removeExpiredRows(counting)) await run(clock.now())
  expect(await count('one_time')).toBe(1)
  expect(await count('device_requests')).toBe(1)
  expect(largest).toBe(500)
})

it('uses the steady time while the clock is ahead, and the clock while it is behind', async () => {
  const seen: number[] = []
  const steady = clock.now()
  let shown = steady
  const jumping = { now: () => shown, steady: () => steady, past: () => Math.min(shown, steady) }
  const sweep = createSweep(jumping, createMemoryLog(), [
    { name: 'watch', run: async (until) => void seen.push(until - steady) },
  ])
  for (const by of [0, 600_000, -600_000]) {
    shown = steady + by
    await sweep.run()
  }
  expect(seen).toEqual([0, 0, -600_000])
})

it('one task that fails does not stop the others', async () => {
  const log = createMemoryLog()
  const ran: string[] = []
  await createSweep(clock, log, [
    { name: 'broken', run: async () => Promise.reject(new Error('away')) },
    { name: 'next', run: async () => void ran.push('next') },
  ]).run()
  expect(ran).toEqual(['next'])
  expect(log.lines.join()).toContain('broken')
  expect(await store.run(sql`SELECT 1 AS one`)).toHaveLength(1)
})
