/** What replicas count together, on a store that this process shares with itself. Races of replicas are in the suite. */
import { type SqlStore, StoreError, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { migrations } from '../schema.ts'
import { measureReplicas } from './measure-replicas.ts'
import { openPresence } from './presence.ts'
import { createSharedLimiter } from './shared-limiter.ts'
import { createUsedProofs } from './used-proofs.ts'

const clock = createFakeClock()
const start = clock.now()
let own: SqlStore
let store: SqlStore
beforeEach(() => {
  clock.set(start)
  own = openMemoryStore(migrations)
  store = { ...own, isShared: true }
})
afterEach(() => own.close())

describe('the presence of a replica', () => {
  const log = createMemoryLog()
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  const pass = async (ms: number) => {
    clock.advance(ms)
    vi.advanceTimersByTime(ms)
    await settle()
  }

  it('is one without a row on a store of one process', async () => {
    const presence = await openPresence(own, clock, log)
    expect(presence.count()).toBe(1)
    expect(await own.run(sql`SELECT 1 AS one FROM replicas`)).toEqual([])
    await presence.stop()
    expect(await own.run(sql`SELECT 1 AS one FROM replicas`)).toEqual([])
  })

  it('is known to the others within five seconds, and until it stops', async () => {
    const one = await openPresence(store, clock, log)
    const other = await openPresence(store, clock, log)
    expect([one.count(), other.count()]).toEqual([1, 2])
    await pass(4999)
    expect(one.count()).toBe(1)
    await pass(1)
    expect(one.count()).toBe(2)
    await other.stop()
    await pass(5000)
    expect(one.count()).toBe(1)
    await one.stop()
    expect(await own.run(sql`SELECT 1 AS one FROM replicas`)).toEqual([])
  })

  it('ends without a sign of life for more than 20 seconds', async () => {
    await own.run(sql`INSERT INTO replicas VALUES ('silent', ${start})`)
    const one = await openPresence(store, clock, log)
    await pass(20_000)
    expect(one.count()).toBe(2)
    await pass(5000)
    expect(one.count()).toBe(1)
    await one.stop()
  })

  it('stays as it was while the database does not answer, and a replica that stops ignores that', async () => {
    const [one, other] = [await openPresence(store, clock, log), await openPresence(store, clock, log)]
    await pass(5000)
    await own.run(sql`ALTER TABLE replicas RENAME TO elsewhere`)
    await pass(5000)
    expect([one.count(), other.count()]).toEqual([2, 2])
    expect(log.lines.join()).toContain('could not be shown')
    await one.stop()
    await other.stop()
  })
})

describe('a shared limit', () => {
  const rate = { burst: 3, perSecond: 1 / 10 }
  const limiterOf = (name = 'test') => createSharedLimiter(store, clock, name, rate)

  it('allows its burst, then one each time that it refills', async () => {
    const limiter = limiterOf()
    expect([await limiter.take('k'), await limiter.take('k'), await limiter.take('k')]).toEqual([0, 0, 0])
    expect(await limiter.take('k')).toBe(10)
    clock.advance(9001)
    expect(await limiter.take('k')).toBe(1)
    clock.advance(999)
    expect([await limiter.take('k'), await limiter.take('k')]).toEqual([0, 10])
    clock.advance(30_000)
    expect([await limiter.take('k'), await limiter.take('k'), await limiter.take('k')]).toEqual([0, 0, 0])
    expect(await limiter.take('k')).toBe(10)
  })

  it('is separate for each key and name', async () => {
    for (let at = 0; at < 3; at++) await limiterOf().take('k')
    expect(await limiterOf().take('k')).toBe(10)
    expect(await limiterOf().take('l')).toBe(0)
    expect(await limiterOf('other').take('k')).toBe(0)
  })

  it('returns what was harmless', async () => {
    const limiter = limiterOf()
    for (let at = 0; at < 3; at++) await limiter.take('k')
    await limiter.giveBack('k')
    await limiter.giveBack('unknown')
    expect([await limiter.take('k'), await limiter.take('k')]).toEqual([0, 10])
  })

  it('that a clock in the future emptied is full again when the clock is right', async () => {
    const limiter = limiterOf()
    clock.advance(86_400_000)
    for (let at = 0; at < 3; at++) await limiter.take('k')
    clock.set(start)
    expect([await limiter.take('k'), await limiter.take('k'), await limiter.take('k')]).toEqual([0, 0, 0])
    expect(await limiter.take('k')).toBe(10)
  })

  it('of one request at once waits a second at least', async () => {
    const limiter = createSharedLimiter(store, clock, 'fast', { burst: 1, perSecond: 100 })
    expect([await limiter.take('k'), await limiter.take('k')]).toEqual([0, 1])
    clock.advance(10)
    expect(await limiter.take('k')).toBe(0)
  })

  it('waits for a second if the row is gone meanwhile', async () => {
    const limiter = createSharedLimiter({ ...store, run: async () => [] }, clock, 'gone', rate)
    expect(await limiter.take('k')).toBe(1)
  })
})

describe('a used proof', () => {
  it('is used up once for all replicas, until it expires', async () => {
    const use = createUsedProofs(store)
    expect([await use('p', 60), await use('p', 60), await use('q', 60)]).toEqual([true, false, true])
    expect(await own.run(sql`SELECT * FROM used_proofs ORDER BY id`)).toEqual([
      { id: 'p', expires_at: 60_000 },
      { id: 'q', expires_at: 60_000 },
    ])
  })

  it('of one process is in its memory alone', async () => {
    const use = createUsedProofs(own)
    expect([await use('p', 60), await use('p', 60)]).toEqual([true, true])
    expect(await own.run(sql`SELECT 1 AS one FROM used_proofs`)).toEqual([])
  })

  it('is accepted while the database only reads, and not after another failure', async () => {
    const failing = (cause: unknown) =>
      createUsedProofs({
        ...store,
        run: async () => {
          throw cause
        },
      })('p', 60)
    const cause = Object.assign(new Error('read only'), { code: '25006' })
    expect(await failing(new StoreError('database', { cause }))).toBe(true)
    await expect(failing(new Error('no connection'))).rejects.toThrow('no connection')
  })
})

it('replicas and the age of their knowledge are measured', () => {
  const gauges = new Map<string, () => number | undefined>()
  const gauge = (name: string, _: string, read: () => number | undefined) => void gauges.set(name, read)
  measureReplicas({ gauge } as never, { replicas: () => 3, ageSeconds: () => undefined })
  expect([...gauges].map(([name, read]) => [name, read()])).toEqual([
    ['selvedge_replicas', 3],
    ['selvedge_changes_checked_seconds', undefined],
  ])
})
