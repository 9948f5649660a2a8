/** How a process follows the changes of others: each once and in order, and no decision while any may be missing. */
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { migrations } from '../schema.ts'
import { type Changes, openChanges } from './changes.ts'
import { raiseCounters } from './raise-counters.ts'

const hour = 3_600_000
const clock = createFakeClock()
const start = clock.now()
const maxAgeMs = 5000
let store: SqlStore
let log: ReturnType<typeof createMemoryLog>
let monotonic: number
let wakes: (() => void)[]
let polls: number
/** What happens to the next reading of changes. */
let fate: ((read: () => Promise<unknown>) => Promise<unknown>) | undefined
const opened: Changes[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  clock.set(start)
  store = openMemoryStore(migrations)
  log = createMemoryLog()
  monotonic = 0
  wakes = []
  polls = 0
  fate = undefined
})
afterEach(async () => {
  vi.useRealTimers()
  for (const changes of opened.splice(0)) await changes.stop()
  await store.close()
})

/** A process on the store. @param isShared whether other processes may be on it */
async function open(isShared = true, seen: string[] = []) {
  const run = (statement: Statement) => {
    const read = () => store.run(statement)
    if (!statement.sql.includes('LEFT JOIN changes')) return read()
    polls++
    return fate ? fate(read) : read()
  }
  const own = {
    ...store,
    ...{ isShared, run: run as SqlStore['run'], onWake: (listener: () => void) => void wakes.push(listener) },
    wakeOthers: async () => void seen.push('wakes others'),
  }
  const changes = await openChanges({
    ...{ store: own, clock, system: clock, log, maxAgeMs, monotonic: () => monotonic },
  })
  opened.push(changes)
  changes.onChange('node', (subject) => void seen.push(subject))
  return changes
}
const fail = async () => {
  throw new Error('no connection')
}
/** Lets readings that timers or notifications began come to their end. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const pass = async (ms: number) => {
  monotonic += ms
  clock.advance(ms)
  vi.advanceTimersByTime(ms)
  await settle()
}
const refused = expect.objectContaining({ code: 'temporarily_unavailable', status: 503 })
const numbers = () => store.run(sql`SELECT seq, topic, subject, at FROM changes ORDER BY seq`)

describe('a commit', () => {
  it('returns the rows of its statements, and notes what they change under the next numbers', async () => {
    const seen: string[] = []
    const changes = await open(true, seen)
    const rows = await changes.commit(
      [sql`SELECT value FROM counters WHERE name = 'changes'`, sql`SELECT 'x' AS other`],
      [
        ['node', 'n'],
        ['project', 'p'],
      ],
    )
    expect(rows).toEqual([[{ value: 2 }], [{ other: 'x' }]])
    expect(await numbers()).toEqual([
      { seq: 1, topic: 'node', subject: 'n', at: start },
      { seq: 2, topic: 'project', subject: 'p', at: start },
    ])
    expect(changes.epoch()).toBe(2)
    expect(seen).toEqual(['n', 'wakes others'])
    expect(await changes.commit([], [])).toEqual([])
  })

  it('removes the notes that are older than an hour', async () => {
    const changes = await open()
    await changes.commit([], [['node', 'n']])
    clock.advance(hour)
    await changes.commit([], [['node', 'm']])
    expect(await numbers()).toHaveLength(2)
    clock.advance(1)
    await changes.commit([], [])
    expect(await numbers()).toMatchObject([{ subject: 'm' }])
  })

  it('that fails may have been written: the changes are read, and the others are notified', async () => {
    const seen: string[] = []
    const changes = await open(true, seen)
    await expect(changes.commit([sql`INSERT INTO nowhere VALUES (1)`], [['node', 'n']])).rejects.toThrow(
      'nowhere',
    )
    expect(seen).toEqual(['wakes others'])
    expect([polls, changes.epoch()]).toEqual([1, 0])
    changes.checkFresh()
  })

  it.each([true, false])(
    'that cannot be read back lets this process decide nothing (shared: %j)',
    async (isShared) => {
      const changes = await open(isShared)
      fate = fail
      await changes.commit([], [['node', 'n']])
      expect(() => changes.checkFresh()).toThrow(refused)
      expect(log.lines.join()).toContain('could not be read')
      fate = undefined
      await pass(1000)
      changes.checkFresh()
      expect(changes.epoch()).toBe(1)
    },
  )
})

describe('changes of others', () => {
  it('are read when this process is notified, and each second', async () => {
    const seen: string[] = []
    const [changes, other] = [await open(true, seen), await open()]
    await other.commit(
      [],
      [
        ['node', 'n'],
        ['node', 'm'],
      ],
    )
    expect(seen).toEqual([])
    wakes[0]!()
    await settle()
    expect(seen).toEqual(['n', 'm'])
    await other.commit([], [['node', 'o']])
    await pass(999)
    expect(seen).toEqual(['n', 'm'])
    await pass(1)
    expect(seen).toEqual(['n', 'm', 'o'])
    expect(changes.epoch()).toBe(3)
    await changes.stop()
    polls = 0
    await other.stop()
    await pass(5000)
    expect(polls).toBe(0)
  })

  it('are not polled on a store of one process, unless something may be outdated', async () => {
    const changes = await open(false)
    await pass(3000)
    expect(polls).toBe(0)
    let isBroken = true
    const cache = changes.cache({
      ...{ topic: 'project', limit: 10, read: async () => 'p' },
      onChange: () => {
        if (isBroken) throw new Error('broken')
      },
    })
    await changes.commit([], [['project', 'p']])
    expect(() => cache.get('p')).toThrow(refused)
    expect(() => changes.checkFresh()).toThrow(refused)
    polls = 0
    isBroken = false
    await pass(1000)
    expect(polls).toBe(1)
    expect(await cache.find('p')).toBe('p')
    changes.checkFresh()
    await pass(1000)
    expect(polls).toBe(1)
  })

  it('that were missed make everything be read again', async () => {
    const seen: string[] = []
    const changes = await open(true, seen)
    await store.transaction([
      sql`INSERT INTO changes VALUES (3, 'node', 'n', 0)`,
      sql`UPDATE counters SET value = 3 WHERE name = 'changes'`,
    ])
    await pass(1000)
    expect(seen).toEqual([''])
    expect(changes.epoch()).toBe(3)
    expect(log.lines.filter((line) => line.includes('were missed'))).toHaveLength(1)
  })

  it.each([
    ['the newest number is missing', [[1, 'node', 'n']], 2],
    [
      'a number in between is missing',
      [
        [1, 'node', 'n'],
        [3, 'node', 'm'],
      ],
      3,
    ],
    ['a raise is of another copy of the database', [[50, 'raised', '7']], 50],
  ] as const)('were missed if %s', async (_, rows, newest) => {
    const seen: string[] = []
    await open(true, seen)
    await store.transaction([
      ...rows.map(
        ([seq, topic, subject]) => sql`INSERT INTO changes VALUES (${seq}, ${topic}, ${subject}, 0)`,
      ),
      sql`UPDATE counters SET value = ${newest} WHERE name = 'changes'`,
    ])
    await pass(1000)
    expect(seen).toEqual([''])
  })

  it('were not missed when a start raised the numbers', async () => {
    const seen: string[] = []
    const [changes, other] = [await open(true, seen), await open()]
    await other.commit([], [['node', 'n']])
    await raiseCounters(store, clock)
    await other.commit([], [['node', 'm']])
    await pass(1000)
    expect(seen).toEqual(['n', 'm'])
    expect(changes.epoch()).toBe(start + 1)
  })

  it('that come while others are read are read after them', async () => {
    const seen: string[] = []
    const [changes, other] = [await open(true, seen), await open()]
    await other.commit([], [['node', 'n']])
    const held = Promise.withResolvers<void>()
    fate = async (read) => {
      const rows = await read()
      await held.promise
      return rows
    }
    wakes[0]!()
    await settle()
    fate = undefined
    await other.commit([], [['node', 'm']])
    wakes[0]!()
    await settle()
    expect(seen).toEqual([])
    held.resolve()
    await settle()
    expect(seen).toEqual(['n', 'm'])
    expect(changes.epoch()).toBe(2)
  })
})

describe('a process that cannot read the changes', () => {
  it('decides nothing after the maximum age, with any part, and again after it has read', async () => {
    const changes = await open()
    const cache = changes.cache({ topic: 'project', limit: 10, read: async () => 'p' })
    const copy = await changes.copy({ topic: 'keys', readAll: async () => new Map([['k', 'key']]) })
    await cache.find('p')
    fate = fail
    await pass(maxAgeMs)
    expect([cache.get('p'), copy.get('k')]).toEqual(['p', 'key'])
    expect(changes.ageSeconds()).toBe(5)
    await pass(1)
    expect(() => cache.get('p')).toThrow(refused)
    expect(() => copy.get('k')).toThrow(refused)
    expect(() => changes.checkFresh()).toThrow(refused)
    fate = undefined
    await pass(999)
    expect([cache.get('p'), copy.get('k'), changes.ageSeconds()]).toEqual(['p', 'key', 0])
  })

  it('has no age on a store of its own', async () => {
    expect((await open(false)).ageSeconds()).toBeUndefined()
  })

  it('reads when it is asked to be fresh, and not again within a second of a failure', async () => {
    const changes = await open()
    await changes.ensureFresh()
    expect(polls).toBe(0)
    // The machine slept: no timer ran.
    monotonic += maxAgeMs + 1
    await changes.ensureFresh()
    expect(polls).toBe(1)
    monotonic += maxAgeMs + 1
    fate = fail
    await expect(changes.ensureFresh()).rejects.toThrow(refused)
    expect(polls).toBe(2)
    monotonic += 1000
    await expect(changes.ensureFresh()).rejects.toThrow(refused)
    expect(polls).toBe(2)
    monotonic += 1
    fate = undefined
    await changes.ensureFresh()
    expect(polls).toBe(3)
  })

  it('waits no longer than two seconds for a database that does not answer', async () => {
    const changes = await open()
    monotonic += maxAgeMs + 1
    const held = Promise.withResolvers<void>()
    fate = async (read) => {
      await held.promise
      return read()
    }
    let outcome = 'waits'
    const waiting = changes.ensureFresh().then(
      () => (outcome = 'fresh'),
      () => (outcome = 'refused'),
    )
    await settle()
    vi.advanceTimersByTime(1999)
    await settle()
    expect(outcome).toBe('waits')
    vi.advanceTimersByTime(1)
    await waiting
    expect(outcome).toBe('refused')
    held.resolve()
  })

  it('stops after the reading that is under way', async () => {
    const changes = await open()
    const held = Promise.withResolvers<void>()
    fate = async (read) => {
      await held.promise
      return read()
    }
    wakes[0]!()
    await settle()
    let isStopped = false
    const stopping = changes.stop().then(() => {
      isStopped = true
    })
    await settle()
    expect(isStopped).toBe(false)
    held.resolve()
    await stopping
  })
})
