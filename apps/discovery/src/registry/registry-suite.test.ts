/** What is registered of nodes, on SQLite and on PostgreSQL. */
import { maxStated } from '@selvedge/protocol'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { describeOnStores } from '../../../../tests/harness/databases.ts'
import { migrations } from '../schema.ts'
import { openSecret } from '../sessions/sessions.ts'
import { createRegistry, type Registry } from './registry.ts'
import { createTracks, type Tracks } from './tracks.ts'

const log = createMemoryLog()
const clock = createFakeClock()
const start = clock.now()

describeOnStores(
  '%s',
  (makeDatabase) => {
    let database: SqlStore
    let registry: Registry
    let tracks: Tracks
    beforeEach(async () => {
      clock.set(start)
      database = await openSql(await makeDatabase(), migrations)
      registry = createRegistry({ database, clock, log, writeIntervalMs: 60_000, maxNodes: 5 })
      tracks = createTracks(database, clock, log)
    })
    afterEach(async () => {
      tracks.close()
      await registry.close()
      await database.close()
    })

    const track = (count: number, after = 0) =>
      Array.from({ length: count }, (_, at) => ({ longitude: 0, latitude: 0, fixedAt: after + at + 1 }))

    const node = (nodeId: string, more: object = {}) => ({
      nodeId,
      nodeName: `node ${nodeId}`,
      accountId: 'a',
      addresses: ['10.0.0.1'],
      services: [{ name: 's', path: '/c/s' }],
      trackUntil: 0,
      ...more,
    })

    let left: string[] = []
    beforeEach(() => {
      left = []
    })
    const token = { iss: 'i', iat: 1, epoch: 1 }
    const state = (stated: ReturnType<typeof node>, by = token) =>
      registry.state(stated, by, async (former) => void left.push(former))

    it('gives what a node said last, to its account alone', async () => {
      await state(node('x'))
      await state(node('x', { addresses: [], nodeName: 'new' }))
      expect(left).toEqual([])
      expect(await registry.find('a', ['x', 'y'])).toEqual([
        { ...node('x', { addresses: [], nodeName: 'new' }), heardAt: start },
      ])
      expect(await registry.find('b', ['x'])).toEqual([])
      expect(await registry.find('a', [])).toEqual([])
      const many = Array.from({ length: 50 }, (_, at) => `10.0.1.${at}`)
      await state(node('x', { addresses: many }))
      const addresses = many.slice(0, maxStated.addresses)
      expect(await registry.find('a', ['x'])).toMatchObject([{ addresses }])
    })

    it('locks one of 64 rows while a node joins an account', async () => {
      for (const accountId of 'abcdefgh') await state(node(accountId, { accountId }))
      const rows = await database.run(sql`SELECT name FROM counters WHERE name LIKE 'nodes%'`)
      const locks = rows.map(({ name }) => Number(/^nodes (\d+)$/.exec(name as string)?.[1]))
      expect(locks.length).toBeGreaterThan(1)
      for (const lock of locks) expect(lock).toBeLessThan(64)
    })

    it('lets the former account forget a node before the new one has it, and tries that again', async () => {
      await state(node('x'))
      const fail = () => Promise.reject(new Error('failover'))
      await expect(registry.state(node('x', { accountId: 'b' }), token, fail)).rejects.toThrow('failover')
      expect(await registry.page('a', '', 9)).toHaveLength(1)
      await state(node('x', { accountId: 'b' }))
      expect(left).toEqual(['a'])
      expect(await registry.page('a', '', 9)).toEqual([])
    })

    it('accepts no more nodes than an account may have, also if they come at the same time', async () => {
      const all = Array.from({ length: 50 }, (_, at) => state(node(`n${at}`)))
      const outcomes = await Promise.allSettled(all)
      const refused = outcomes.filter((each) => each.status === 'rejected')
      expect(refused.map(({ reason }) => reason.code)).toEqual(Array(45).fill('access_denied'))
      const taken = await registry.page('a', '', 99)
      expect(taken).toHaveLength(5)
      await expect(state(node('late'))).rejects.toThrow(/has 5 nodes already.*raise limits.nodes/)
      await state(node(taken[0]!.nodeId, { nodeName: 'one that is there' }))
      await state(node('other', { accountId: 'b' }))
    })

    it('counts up when a node changes hands, and refuses a token from before', async () => {
      const first = await state(node('x'), { ...token, iat: 10, epoch: 10 })
      expect(await state(node('x'), { ...token, iat: 11, epoch: 10 })).toBe(first)
      const second = await state(node('x', { accountId: 'b' }), { ...token, iat: 12, epoch: 11 })
      expect(second).toBeGreaterThan(first)
      for (const late of [
        { epoch: 10, iat: 99 },
        { epoch: 11, iat: 11 },
      ])
        await expect(state(node('x'), { ...token, ...late })).rejects.toThrow(
          /before the node changed accounts/,
        )
      expect(await registry.find('a', ['x'])).toEqual([])
      const third = await state(node('x'), { ...token, iat: 13, epoch: 12 })
      expect(third).toBeGreaterThan(second)
      // A node that states the account that it has may show the token before.
      expect(await state(node('x'), { ...token, iat: 12, epoch: 11 })).toBe(third)
      // The numbers of another issuer are compared with its own only.
      expect(await state(node('x', { accountId: 'b' }), { iss: 'j', iat: 0, epoch: 0 })).toBeGreaterThan(
        third,
      )
    })

    it('counts up when a node comes back after it was forgotten', async () => {
      const first = await state(node('x'))
      clock.advance(1)
      await registry.forgetSilent(clock.now(), async () => undefined)
      expect(await state(node('x'))).toBeGreaterThan(first)
    })

    it('adds nothing to a track from before the node changed hands', async () => {
      const more = { trackUntil: start + 1000 }
      const before = await state(node('x', more))
      await tracks.add({ nodeId: 'x', term: before }, track(1))
      const after = await state(node('x', { ...more, accountId: 'b' }), { ...token, iat: 2 })
      await tracks.add({ nodeId: 'x', term: before }, track(2))
      expect(await tracks.of('x', 9)).toEqual([])
      await tracks.add({ nodeId: 'x', term: after }, track(2))
      expect(await tracks.of('x', 9)).toHaveLength(2)
    })

    it('forgets nodes that were silent for long with their tracks, and tries a failed one again', async () => {
      const more = { trackUntil: start + 9_000_000 }
      const term = await state(node('silent', more))
      await tracks.add({ nodeId: 'silent', term }, track(2))
      clock.advance(5000)
      await state(node('present', more))
      const forgotten: object[] = []
      const fail = () => Promise.reject(new Error('failover'))
      await expect(registry.forgetSilent(start + 5000, fail)).rejects.toThrow('failover')
      expect(await registry.page('a', '', 9)).toHaveLength(2)
      await registry.forgetSilent(start + 5000, async (each) => void forgotten.push(each))
      expect(forgotten).toEqual([{ nodeId: 'silent', accountId: 'a' }])
      expect((await registry.page('a', '', 9)).map((each) => each.nodeId)).toEqual(['present'])
      expect(await tracks.of('silent', 9)).toEqual([])
    })

    it('gives the nodes of an account page by page', async () => {
      for (const id of ['c', 'a', 'd', 'b']) await state(node(id))
      const pageOf = async (after: string) => (await registry.page('a', after, 3)).map((each) => each.nodeId)
      expect([await pageOf(''), await pageOf('c'), await pageOf('d')]).toEqual([['a', 'b', 'c'], ['d'], []])
    })

    it('writes signs of life now and then, and never an older one', async () => {
      await state(node('x'))
      await state(node('y'))
      const heardAt = async () => (await registry.find('a', ['x', 'y'])).map((each) => each.heardAt - start)
      clock.advance(59_999)
      registry.heard('x')
      expect(registry.waiting()).toBe(0)
      clock.advance(1)
      registry.heard('x')
      registry.heard('x')
      expect(registry.waiting()).toBe(1)
      await registry.close()
      expect((await heardAt()).sort((a, b) => a - b)).toEqual([0, 60_000])
      clock.set(start)
      await state(node('x'))
      expect(await heardAt()).toEqual([0, 0])
      // A clock that was corrected by more than the interval.
      clock.set(start - 60_000)
      registry.heard('x')
      expect(registry.waiting()).toBe(1)
    })

    it('keeps the points of a track once each, and deletes them with its end, its account or its owner’s word', async () => {
      const points = [3, 1, 2, 1].map((fixedAt) => ({ longitude: fixedAt, latitude: 0, fixedAt }))
      const kept = async () => (await tracks.of('x', 9)).map((each) => each.fixedAt)
      const term = await state(node('x', { trackUntil: start + 1000 }))
      await tracks.add({ nodeId: 'x', term }, points)
      await tracks.add({ nodeId: 'x', term }, [])
      expect(await kept()).toEqual([1, 2, 3])
      await state(node('x', { trackUntil: start + 5000 }))
      expect(await kept()).toEqual([1, 2, 3])
      await tracks.sweep()
      expect(await kept()).toEqual([1, 2, 3])
      clock.advance(5000)
      await tracks.sweep()
      expect([await kept(), (await registry.find('a', ['x']))[0]!.trackUntil]).toEqual([[], 0])
      for (const ending of [{ trackUntil: 0 }, { trackUntil: start + 99_000, accountId: 'b' }]) {
        const own = await state(node('x', { trackUntil: start + 99_000 }))
        await tracks.add({ nodeId: 'x', term: own }, points)
        await state(node('x', ending))
        expect(await kept()).toEqual([])
      }
    })

    it('gives a track page by page, from its end', async () => {
      const term = await state(node('x', { trackUntil: start + 1000 }))
      await tracks.add({ nodeId: 'x', term }, track(5))
      const page = async (before?: number) => (await tracks.of('x', 2, before)).map((each) => each.fixedAt)
      expect([await page(), await page(4), await page(2), await page(1)]).toEqual([[4, 5], [2, 3], [1], []])
    })

    it('stores only the last points of a track, however many are reported', async () => {
      const small = createTracks(database, clock, log, 10)
      const term = await state(node('x', { trackUntil: start + 1000 }))
      await small.add({ nodeId: 'y', term: await state(node('y', { trackUntil: start + 1000 })) }, track(3))
      for (let at = 0; at < 20; at++) await small.add({ nodeId: 'x', term }, track(5, at * 5))
      small.close()
      expect((await tracks.of('x', 99)).map((each) => each.fixedAt)).toEqual(
        track(10, 90).map((each) => each.fixedAt),
      )
      expect(await tracks.of('y', 99)).toHaveLength(3)
    })

    it('has one secret, for all callers', async () => {
      const all = await Promise.all(Array.from({ length: 5 }, () => openSecret(database)))
      expect(new Set(all.map((each) => each.toString('hex'))).size).toBe(1)
      expect(all[0]).toHaveLength(32)
    })
  },
  migrations,
)

describe('in the background', () => {
  const parts = { clock: createFakeClock(), writeIntervalMs: 60_000, maxNodes: 5 }
  /** A database that executes nothing, until the returned function is called. */
  function slowDatabase() {
    const statements: string[] = []
    let answer: (outcome: Promise<never[]>) => void = () => undefined
    const run = ({ sql: text }: { sql: string }) => {
      statements.push(text)
      return new Promise<never[]>((resolve) => {
        answer = resolve
      })
    }
    const transaction = vi.fn(async () => Promise.reject(new Error('failover')))
    return {
      database: { run, transaction } as never,
      statements,
      transaction,
      answer: (with_: Promise<never[]>) => answer(with_),
    }
  }
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('signs of life are written every five seconds, and the last ones when it closes', async () => {
    const { database, statements, answer } = slowDatabase()
    const log = createMemoryLog()
    const registry = createRegistry({ ...parts, database, log })
    for (let at = 0; at < 501; at++) registry.heard(`n${at}`)
    await vi.advanceTimersByTimeAsync(5000)
    expect([statements.length, registry.waiting()]).toEqual([1, 0])
    registry.heard('late')
    const closed = registry.close()
    // What fails is logged, and the rest is written.
    answer(Promise.reject(new Error('failover')))
    await vi.advanceTimersByTimeAsync(0)
    answer(Promise.resolve([]))
    await vi.advanceTimersByTimeAsync(0)
    answer(Promise.resolve([]))
    await closed
    expect(log.lines.join()).toMatch(/signs of life can not be written.*failover/)
    expect(statements).toHaveLength(3)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('expired tracks are deleted every minute, until it closes', async () => {
    const { database, transaction } = slowDatabase()
    const log = createMemoryLog()
    const tracks = createTracks(database, parts.clock, log)
    await tracks.add({ nodeId: 'x', term: 0 }, [])
    await vi.advanceTimersByTimeAsync(59_999)
    expect(transaction).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(transaction).toHaveBeenCalledOnce()
    expect(log.lines.join()).toMatch(/expired tracks could not be deleted.*failover/)
    tracks.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})
