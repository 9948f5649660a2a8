/** What a project allows of leases, as it is stored and compared. How long leases live is in the suite. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import {
  allowsLess,
  describeOffline,
  endOffline,
  followLeases,
  hasLeases,
  noLeases,
  type Offline,
  offlineExpiry,
  toOffline,
  writeOffline,
} from './offline.ts'

const day = 86_400_000
const month: Offline = { maxDays: 30, scopes: ['openid', 'edge:mcm'] }

it('a project has leases with both days and scopes', () => {
  expect(hasLeases(month)).toBe(true)
  expect(hasLeases({ maxDays: 1, scopes: ['openid'] })).toBe(true)
  expect(hasLeases({ ...month, maxDays: 0 })).toBe(false)
  expect(hasLeases({ ...month, scopes: [] })).toBe(false)
  expect(hasLeases(noLeases)).toBe(false)
  expect(noLeases).toEqual({ maxDays: 0, scopes: [] })
})

it('the audit log describes the settings', () => {
  expect(describeOffline(month)).toBe('leases of at most 30 days for openid edge:mcm')
  expect(describeOffline({ ...month, scopes: [] })).toBe('no leases')
})

it('a row without leases, and scopes that no lease may have, are read as nothing', () => {
  expect(toOffline({ max_days: null, offline_scopes: null })).toEqual(noLeases)
  expect(toOffline({})).toEqual(noLeases)
  expect(toOffline({ max_days: 7, offline_scopes: 'openid offline_access edge:mcm ' })).toEqual({
    maxDays: 7,
    scopes: ['openid', 'edge:mcm'],
  })
})

it.each<[before: Offline, now: Offline, isLess: boolean]>([
  [month, month, false],
  [month, { ...month, maxDays: 31 }, false],
  [month, { ...month, maxDays: 29 }, true],
  [month, { ...month, scopes: ['openid'] }, true],
  [{ ...month, scopes: ['openid'] }, month, false],
  [month, { ...month, scopes: ['edge:mcm', 'openid'] }, false],
  [month, noLeases, true],
  [month, { maxDays: 30, scopes: [] }, true],
  [noLeases, month, false],
  [{ ...month, scopes: [] }, noLeases, false],
])('from %j to %j leases must end: %j', (before, now, isLess) => {
  expect(allowsLess(before, now)).toBe(isLess)
})

it('settings without scopes or days are stored as no leases, and leases of before live on to their end', async () => {
  const store = openMemoryStore(migrations)
  await store.transaction([
    sql`INSERT INTO accounts VALUES ('a', 'a', 0)`,
    sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
      VALUES ('c', 'p', 'a', '', '', 1, 0)`,
  ])
  const rows = () => store.run(sql`SELECT * FROM project_offline`)
  const row = { client_id: 'c', max_days: 30, scopes: 'openid edge:mcm', leases_until: 0 }
  await store.run(writeOffline('unknown', month, 0))
  expect(await rows()).toEqual([])
  await store.run(writeOffline('c', month, 1000))
  expect(await rows()).toEqual([row])
  await store.run(writeOffline('c', { maxDays: 5, scopes: [] }, 2000))
  const ended = { ...row, max_days: 0, scopes: '', leases_until: 2000 + 30 * day }
  expect(await rows()).toEqual([ended])
  await store.run(writeOffline('c', month, 3000))
  await store.run(endOffline('other', 4000))
  expect(await rows()).toEqual([{ ...row, leases_until: ended.leases_until }])
  await store.run(endOffline('c', 4000))
  expect(await rows()).toEqual([{ ...row, max_days: 0, leases_until: 4000 + 30 * day }])
  const expiry = offlineExpiry(store)
  expect(expiry.name).toBe('project_offline')
  await expiry.run(4000 + 31 * day - 1)
  expect(await rows()).toHaveLength(1)
  await expiry.run(4000 + 31 * day)
  expect(await rows()).toEqual([])
  await store.run(writeOffline('c', month, 0))
  await expiry.run(1e15)
  expect(await rows()).toHaveLength(1)
  await store.close()
})

it('the longest lease of all projects is followed, in seconds from now', async () => {
  const store = openMemoryStore(migrations)
  const clock = createFakeClock()
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  const seconds = await followLeases(store, clock, changes)
  expect(seconds()).toBe(0)
  const add = async (id: string, days: number) => {
    await store.run(sql`INSERT INTO project_offline VALUES (${id}, ${days}, 'openid', 0)`)
    await changes.commit([], [['lease', id]])
  }
  await add('c', 2)
  await add('d', 1)
  // The clocks of devices may differ by a minute.
  expect(seconds()).toBe(2 * 86_400 + 60)
  await changes.stop()
  await store.close()
})
