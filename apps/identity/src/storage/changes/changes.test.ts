/** How replicas learn of each other's changes, also without a notification. */
import { setTimeout as pause } from 'node:timers/promises'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import {
  createFakeClock,
  createMemoryLog,
  type PostgresServer,
  startPostgres,
} from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../../tests/harness/installed.ts'
import { migrations } from '../schema.ts'
import { type Changes, openChanges } from './changes.ts'
import { raiseCounters } from './raise-counters.ts'

describe('changes', needs('postgres'), () => {
  let server: PostgresServer
  const opened: { store: SqlStore; changes: Changes }[] = []
  let url: string
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
  })
  afterAll(async () => {
    for (const { store, changes } of opened) {
      await changes.stop()
      await store.close()
    }
    await server.stop()
  })

  /** @param isDeaf LISTEN and NOTIFY do not get through, as behind a pooler of connections */
  async function open(
    isDeaf: boolean,
    log = createMemoryLog(),
  ): Promise<{ changes: Changes; seen: string[] }> {
    const real = await openSql(url, migrations)
    const store = isDeaf
      ? { ...real, wakeOthers: async () => undefined, onWake: () => undefined }
      : // No polls: each change arrives by a notification.
        { ...real, isShared: false }
    const changes = await openChanges({
      store,
      clock: createFakeClock(),
      system: createFakeClock(),
      log,
      maxAgeMs: 60_000,
    })
    opened.push({ store: real, changes })
    const seen: string[] = []
    changes.cache({
      topic: 'project',
      limit: 0,
      read: async () => undefined,
      onChange: (subject) => void seen.push(subject),
    })
    return { changes, seen }
  }
  const until = async (check: () => boolean) => {
    for (let tries = 0; tries < 500 && !check(); tries++) await pause(10)
  }

  it.each([
    ['woken', false],
    ['by looking', true],
  ])('reach another replica, %s', async (_, isDeaf) => {
    const [one, other] = [await open(isDeaf), await open(isDeaf)]
    await one.changes.commit([], [['project', `p-${isDeaf}`]])
    expect(one.seen).toEqual([`p-${isDeaf}`])
    await until(() => other.seen.length > 0)
    expect(other.seen).toEqual([`p-${isDeaf}`])
  })

  it('of a replica that starts are no gap: the others missed nothing', async () => {
    const log = createMemoryLog()
    const [one, other] = [await open(true), await open(true, log)]
    const { store } = opened.at(-1)!
    const clock = createFakeClock()
    for (const subject of ['before', 'after']) {
      clock.advance(86_400_000)
      await raiseCounters(store, clock)
      await one.changes.commit([], [['project', subject]])
    }
    await until(() => other.seen.includes('after'))
    expect(other.seen).toEqual(['before', 'after'])
    expect(log.lines.filter((line) => line.includes('missed'))).toEqual([])
  })

  it('that were removed, or are of another copy of the database, are a gap', async () => {
    const log = createMemoryLog()
    const { changes } = await open(true, log)
    const { store } = opened.at(-1)!
    const [{ value: number } = { value: 0 }] = await store.run<{ value: number }>(
      sql`SELECT value FROM counters WHERE name = 'changes'`,
    )
    const wrong = String(number - 1)
    await store.transaction([
      sql`INSERT INTO changes VALUES (${number + 500}, 'raised', ${wrong}, 0)`,
      sql`UPDATE counters SET value = ${number + 500} WHERE name = 'changes'`,
    ])
    const missed = () => log.lines.filter((line) => line.includes('missed'))
    await until(() => missed().length > 0)
    expect(changes.epoch()).toBe(number + 500)
    expect(missed()).toHaveLength(1)
  })

  it('of many replicas at once reach every one of them, each once and in one order', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => open(false)))
    await Promise.all(
      all.flatMap(({ changes }, replica) =>
        Array.from({ length: 50 }, (_, at) => changes.commit([], [['project', `${replica}/${at}`]])),
      ),
    )
    await until(() => all.every(({ seen }) => seen.length >= 200))
    for (const { seen } of all) expect(seen).toEqual(all[0]!.seen)
    expect(new Set(all[0]!.seen).size).toBe(200)
  })
})
