/** The suite of the location store; every engine passes it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destination, distanceBetween, snap } from '@selvedge/geo'
import { discoveryReportSeconds, onlineWindowMs, type Precision, precisions } from '@selvedge/protocol'
import { openSqlite, type SqlStore } from '@selvedge/service-kit/store'
import {
  createFakeClock,
  createMemoryLog,
  type RedisCluster,
  startRedisCluster,
} from '@selvedge/service-kit/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../tests/harness/installed.ts'
import { fc } from '../../../../tests/harness/properties.ts'
import { migrations } from '../schema.ts'
import { openClusterStore } from './cluster/cluster-store.ts'
import { openEmbeddedStore } from './embedded/embedded-store.ts'
import type { KnownLocation, LocationStore, Neighbour, ReportedLocation } from './location-store.ts'

const start = Date.parse('2026-01-01T00:00:00Z')
const silenceMs = onlineWindowMs(discoveryReportSeconds)
const forgetAfter = 3_600_000
const clock = createFakeClock(start)
const log = createMemoryLog()

interface Opened {
  readonly store: LocationStore
  close(): Promise<void>
}

interface Engine {
  before(): Promise<void>
  after(): Promise<void>
  open(folder: string): Promise<Opened>
}

let cluster: RedisCluster
const engines: Record<string, Engine> = {
  embedded: {
    before: async () => undefined,
    after: async () => undefined,
    async open(folder) {
      const database: SqlStore = await openSqlite(join(folder, 'locations.db'), migrations)
      const store = await openEmbeddedStore(database, log)
      const close = () => store.close().then(() => database.close())
      return { store, close }
    },
  },
  cluster: {
    async before() {
      cluster = await startRedisCluster()
    },
    after: () => cluster.stop(),
    async open() {
      const store = await openClusterStore({ urls: cluster.urls, silenceMs, forgetAfter, clock, log })
      return { store, close: () => store.close() }
    },
  },
}

let ids = 0
const nodeId = () => (++ids).toString(16).padStart(56, '0')

const at = (id: string, fixedAt: number, more: Partial<ReportedLocation> = {}): ReportedLocation => ({
  nodeId: id,
  nodeName: `node ${id.slice(-4)}`,
  accountId: 'a',
  longitude: 10.1234567,
  latitude: -20.7654321,
  speed: 1.5,
  bearing: 359.99,
  accuracy: 2.5,
  source: 'api',
  sharing: { account: 'exact', others: 'none' },
  fixedAt: start + fixedAt,
  receivedAt: start + fixedAt,
  heardAt: start + fixedAt,
  term: 1,
  ...more,
})
const known = ({ term: _, ...location }: ReportedLocation, suspect = false): KnownLocation => ({
  ...location,
  suspect,
})

for (const [name, engine] of Object.entries(engines))
  describe(name, name === 'cluster' ? needs('redis-server') : {}, () => {
    let folder: string
    let opened: Opened
    let store: LocationStore
    beforeAll(engine.before)
    afterAll(engine.after)
    beforeEach(async () => {
      clock.set(start)
      folder = mkdtempSync(join(tmpdir(), 'locations-'))
      opened = await engine.open(folder)
      store = opened.store
      if (name === 'cluster') for (const port of cluster.ports) cluster.command(port, 'flushall')
    })
    afterEach(async () => {
      await opened.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const reopen = async () => {
      await opened.close()
      opened = await engine.open(folder)
      store = opened.store
    }
    const last = async (id: string, account = 'a') => (await store.last(account, [id]))[0]

    it('knows nothing of a node that never reported', async () =>
      expect(await last(nodeId())).toBeUndefined())

    it('returns the latest fix of each node as it was reported, after a restart too', async () => {
      const [x, y] = [nodeId(), nodeId()]
      expect(await store.put([at(x, 2), at(y, 5, { source: 'gpsd', bearing: 0 })])).toEqual([-1, -1])
      expect(await store.put([at(x, 1), at(y, 4)])).toEqual([start + 2, start + 5])
      for (const again of [false, true]) {
        if (again) await reopen()
        expect(await store.last('a', [x, y])).toEqual([
          known(at(x, 2)),
          known(at(y, 5, { source: 'gpsd', bearing: 0 })),
        ])
      }
    })

    it('a fix without accuracy is stored without accuracy', async () => {
      const x = nodeId()
      const { accuracy: _, ...bare } = at(x, 1)
      await store.put([bare])
      await reopen()
      expect(await last(x)).toEqual(known(bare))
    })

    it('keeps the first of two fixes with the same time, and how the node is from the one it was heard with later', async () => {
      const x = nodeId()
      await store.put([at(x, 1)])
      const again = at(x, 1, {
        speed: 9,
        nodeName: 'new',
        heardAt: start + 50,
        receivedAt: start + 50,
        sharing: { account: '1km', others: 'city' },
      })
      expect(await store.put([again])).toEqual([start + 1])
      expect(await store.put([at(x, 1, { heardAt: start + 40, nodeName: 'late' })])).toEqual([start + 1])
      expect(await last(x)).toEqual(known({ ...again, speed: 1.5, receivedAt: start + 1 }))
    })

    it('has the latest however the reports of a thousand writers are shuffled and doubled', async () => {
      const x = nodeId()
      const times = Array.from({ length: 1000 }, (_, index) => index).sort(
        (a, b) => Math.sin(a) - Math.sin(b),
      )
      await Promise.all([...times, ...times].map((time) => store.put([at(x, time, { speed: time })])))
      expect(await last(x)).toEqual(known(at(x, 999, { speed: 999 })))
      await reopen()
      expect(await last(x)).toEqual(known(at(x, 999, { speed: 999 })))
    })

    it('marks a fix that the node can not have come to, and stores it; the next fix near it is not marked', async () => {
      const x = nodeId()
      await store.put([at(x, 0, { longitude: 0, latitude: 0 })])
      await store.put([at(x, 10_000, { longitude: 0, latitude: 0.05 })])
      expect(await last(x)).toMatchObject({ latitude: 0.05, suspect: true })
      await store.put([at(x, 10_000, { heardAt: start + 20_000 })])
      expect(await last(x)).toMatchObject({ latitude: 0.05, suspect: true })
      await store.put([at(x, 20_000, { longitude: 0, latitude: 0.08 })])
      expect(await last(x)).toMatchObject({ latitude: 0.08, suspect: false })
      await store.put([at(x, 30_000, { longitude: 180, latitude: 0.08 })])
      await store.put([at(x, 40_000, { longitude: -180, latitude: 0.08 })])
      expect(await last(x)).toMatchObject({ longitude: -180, suspect: false })
    })

    it('a node is of the account that it reported under last, and forgotten where it left', async () => {
      const x = nodeId()
      await store.put([at(x, 1, { sharing: { account: 'exact', others: 'exact' } })])
      await store.put([at(x, 1, { accountId: 'b', heardAt: start + 9 })])
      await store.forget('a', x, 2)
      expect([await last(x), (await last(x, 'b'))?.accountId]).toEqual([undefined, 'b'])
      expect(await store.ofAccount('a')).toEqual([])
      expect((await store.ofAccount('b')).map((each) => each.nodeId)).toEqual([x])
      await store.forget('b', x, 2)
      await reopen()
      expect([await last(x, 'b'), await store.ofAccount('b')]).toEqual([undefined, []])
    })

    it('refuses what was reported before the node left the account, and accepts what is reported after its return', async () => {
      const x = nodeId()
      const others = { sharing: { account: 'exact', others: 'exact' } } as const
      await store.put([at(x, 1, others)])
      await store.forget('a', x, 5)
      expect(await store.put([at(x, 2, others)])).toEqual(['left'])
      expect(await last(x)).toBeUndefined()
      expect(await store.put([at(x, 3, { accountId: 'b', term: 5 })])).toEqual([-1])
      expect(await store.put([at(x, 4, others)])).toEqual(['left'])
      expect([await last(x), (await last(x, 'b'))?.fixedAt]).toEqual([undefined, start + 3])
      await store.forget('b', x, 6)
      expect(await store.put([at(x, 2, { term: 6 })])).toEqual([-1])
      expect([(await last(x))?.fixedAt, await last(x, 'b')]).toEqual([start + 2, undefined])
    })

    it('removes a silent node without a trace, and accepts it as a new one when it reports again', async () => {
      const [x, y] = [nodeId(), nodeId()]
      await store.put([at(x, 1, { accountId: 'removed' }), at(y, 1)])
      await store.remove('removed', x)
      for (const again of [false, true]) {
        if (again) await reopen()
        expect([await last(x, 'removed'), await store.ofAccount('removed')]).toEqual([undefined, []])
        expect((await last(y))?.fixedAt).toBe(start + 1)
      }
      const z = nodeId()
      await store.put([at(z, 1, { accountId: 'c' })])
      expect(await store.put([at(x, 0, { accountId: 'removed' })])).toEqual([-1])
      expect((await store.ofAccount('removed')).map((each) => each.nodeId)).toEqual([x])
      expect((await store.ofAccount('c')).map((each) => each.nodeId)).toEqual([z])
    })

    it('sends each newer fix to the watchers of the account, and to no others', async () => {
      const [x, y] = [nodeId(), nodeId()]
      await store.put([at(x, 1)])
      const told: number[] = []
      const stop = store.watch('a', (location) => told.push(location.fixedAt))
      // A cluster may take a moment until it watches.
      const first = nodeId()
      let second = 0
      await expect
        .poll(async () => {
          await store.put([at(first, ++second)])
          return told.length
        })
        .toBeGreaterThan(0)
      await expect.poll(() => told.at(-1)).toBe(start + second)
      told.length = 0
      await store.put([at(x, 2), at(y, 3, { accountId: 'b' })])
      await store.put([at(x, 2, { heardAt: start + 5 })])
      await expect.poll(() => told).toEqual([start + 2])
      stop()
      // Another watcher gets two more, one after the other.
      const others: number[] = []
      const stopOther = store.watch('a', (location) => others.push(location.fixedAt))
      for (const fixedAt of [6, 7]) {
        let next = fixedAt * 1000
        await expect
          .poll(async () => {
            await store.put([at(x, ++next)])
            return others.some((each) => each > start + fixedAt * 1000)
          })
          .toBe(true)
      }
      stopOther()
      expect(told).toEqual([start + 2])
    })

    const near = (more: Partial<Parameters<LocationStore['near']>[0]>) =>
      store.near({
        accountId: 'a',
        longitude: 0,
        latitude: 0,
        radius: 5000,
        limit: 20,
        heardSince: start - silenceMs,
        except: 'nobody',
        ...more,
      })

    it('nearby are nodes of the account, and those of others as far as they are shared', async () => {
      const [own, shared, coarse, hidden] = [nodeId(), nodeId(), nodeId(), nodeId()]
      const place = { longitude: 0.001, latitude: 0.001 }
      const of = (id: string, others: Precision) =>
        at(id, 1, { ...place, accountId: 'b', sharing: { account: 'exact', others } })
      await store.put([at(own, 1, place), of(shared, 'exact'), of(coarse, '1km'), of(hidden, 'none')])
      const found = await near({})
      expect(found.map((each) => each.location.nodeId).sort()).toEqual([own, shared, coarse].sort())
      const told = snap('1km', place)!
      expect(found.find((each) => each.location.nodeId === coarse)!.distance).toBeCloseTo(
        distanceBetween(0, 0, told.longitude, told.latitude),
        1,
      )
      expect((await near({ accountId: 'b' })).map((each) => each.location.nodeId).sort()).toEqual(
        [shared, coarse, hidden].sort(),
      )
      expect(await near({ accountId: 'b', except: shared, limit: 1 })).toHaveLength(1)
      expect(
        (await near({ accountId: 'b', except: shared })).map((each) => each.location.nodeId),
      ).not.toContain(shared)
    })

    it('a node that went to another account is found as that one’s, however near it was before', async () => {
      const x = nodeId()
      const of = (accountId: string, longitude: number, fixedAt: number) =>
        at(x, fixedAt, { accountId, longitude, latitude: 0, sharing: { account: 'exact', others: 'exact' } })
      await store.put([of('b', 0, 1)])
      await store.forget('b', x, 2)
      await store.put([{ ...of('c', 0.001, 2), term: 2 }])
      const found = await near({})
      expect(found.map(({ location }) => [location.accountId, location.longitude])).toEqual([['c', 0.001]])
    })

    it('a node that shares no more is gone at once, and one that is silent when it is', async () => {
      const x = nodeId()
      const shared = {
        longitude: 0,
        latitude: 0,
        accountId: 'b',
        sharing: { account: 'exact', others: 'exact' } as const,
      }
      await store.put([at(x, 0, shared)])
      expect(await near({})).toHaveLength(1)
      await store.put([
        at(x, 0, { ...shared, heardAt: start + 1, sharing: { account: 'exact', others: 'none' } }),
      ])
      expect(await near({})).toEqual([])
      await store.put([at(x, 0, { ...shared, heardAt: start + 2 })])
      expect(await near({})).toHaveLength(1)
      expect(await near({ heardSince: start + 3 })).toEqual([])
    })

    it('finds a node that moved at its new location only', async () => {
      const x = nodeId()
      for (let step = 0; step <= 10; step++)
        await store.put([at(x, step * 60_000, { longitude: step * 0.1, latitude: 0 })])
      clock.set(start + 600_000)
      const found = async (longitude: number) =>
        (await near({ longitude, heardSince: start + 400_000 })).map((each) => each.location.longitude)
      expect([await found(0), await found(0.9), await found(1)]).toEqual([[], [], [1]])
    })

    it('a node that was heard a while ago, or by a service with a clock that is ahead, is found', async () => {
      const [x, y] = [nodeId(), nodeId()]
      await store.put([at(x, 200_000, { longitude: 0, latitude: 0 })])
      clock.set(start + 499_000)
      await store.put([at(y, 540_000, { longitude: 0, latitude: 0 })])
      const found = await near({ heardSince: start + 199_000 })
      expect(found.map((each) => each.location.nodeId)).toEqual([x, y])
      clock.set(start + 599_000)
      await store.put([at(y, 601_000, { longitude: 1, latitude: 0 })])
      expect(await near({ longitude: 1, heardSince: start + 299_000 })).toHaveLength(1)
    })

    it('many in one place: the nearest of a thousand, in their order', async () => {
      const all = Array.from({ length: 1000 }, (_, index) =>
        at(nodeId(), 1, {
          longitude: index * 1e-6,
          latitude: 51,
          accountId: index % 2 ? 'a' : 'b',
          sharing: { account: 'exact', others: 'exact' },
        }),
      )
      await store.put(all)
      const found = await near({ latitude: 51, limit: 100 })
      expect(found.map((each) => each.location.nodeId)).toEqual(all.slice(0, 100).map((each) => each.nodeId))
    })

    const corners: readonly (readonly [number, number])[] = [
      [0, 0],
      [180, 0],
      [-180, 51.5],
      [179.9999999, -33.3],
      [0, 90],
      [77, -90],
      [12, 89.995],
      [-120, -89.7],
      [0.25, 0.25],
      [10, 85.06],
      [-0.0000001, 0.01],
      [139.76, 35.68],
    ]

    it('finds what brute force on the sphere finds, to a metre, everywhere', async () => {
      const offsets = fc.record({
        bearing: fc.double({ min: 0, max: 359.9, noNaN: true }),
        metres: fc.oneof(
          fc.double({ min: 0, max: 700, noNaN: true }),
          fc.double({ min: 0, max: 6000, noNaN: true }),
          fc.double({ min: 0, max: 120_000, noNaN: true }),
        ),
        precision: fc.constantFrom(...precisions),
        own: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...corners),
          fc.array(offsets, { minLength: 1, maxLength: 40 }),
          fc.constantFrom(300, 5000, 100_000),
          fc.integer({ min: 1, max: 30 }),
          async ([longitude, latitude], others, radius, limit) => {
            const account = `p${nodeId()}`
            const all = others.map(({ bearing, metres, precision, own }) => {
              const place = destination({ longitude, latitude }, bearing, metres)
              const rounded = {
                longitude: Math.round(place.longitude * 1e7) / 1e7,
                latitude: Math.round(place.latitude * 1e7) / 1e7,
              }
              return at(nodeId(), 1, {
                ...rounded,
                accountId: own ? account : `${account}-others`,
                sharing: own
                  ? { account: precision, others: 'none' }
                  : { account: 'none', others: precision },
              })
            })
            const ids = (list: readonly Neighbour[]) => list.map((each) => each.location.nodeId)
            await store.put(all)
            const mine = new Set(all.map((each) => each.nodeId))
            const query = { accountId: account, longitude, latitude, radius }
            const found = await near({ ...query, limit: 100 })
            expect(ids(found).every((id) => mine.has(id))).toBe(true)
            const expected = all
              .flatMap((location) => {
                const own = location.accountId === account
                const place = snap(location.sharing[own ? 'account' : 'others'], location)
                return place
                  ? [
                      {
                        id: location.nodeId,
                        distance: distanceBetween(longitude, latitude, place.longitude, place.latitude),
                      },
                    ]
                  : []
              })
              .sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
            // On the edge of the radius a centimetre decides.
            const surely = expected.filter((each) => each.distance <= radius - 1)
            const perhaps = expected.filter((each) => each.distance <= radius + 1)
            expect(found.length).toBeGreaterThanOrEqual(surely.length)
            expect(found.length).toBeLessThanOrEqual(perhaps.length)
            for (const [index, each] of found.entries())
              expect(Math.abs(each.distance - perhaps[index]!.distance)).toBeLessThanOrEqual(1)
            expect(ids(await near({ ...query, limit }))).toEqual(ids(found).slice(0, limit))
            for (const each of all) await store.forget(each.accountId, each.nodeId, 1)
          },
        ),
        { numRuns: name === 'cluster' ? 60 : 300 },
      )
    })

    if (name === 'cluster')
      it('leaves nothing behind that does not expire', async () => {
        const x = nodeId()
        await store.put([at(x, 1, { sharing: { account: 'city', others: '1km' } })])
        await store.put([at(nodeId(), 1, { sharing: { account: 'exact', others: 'exact' } })])
        await store.forget('a', x, 2)
        const lives = cluster.ports.flatMap((port) =>
          cluster
            .command(port, 'keys', '*')
            .split('\n')
            .filter((key) => key !== '')
            .map((key): [string, number] => [key, Number(cluster.command(port, 'pttl', key))])
            // A replica does not answer for what is its primary's.
            .filter(([, life]) => !Number.isNaN(life)),
        )
        expect(new Set(lives.map(([key]) => key[0]))).toEqual(new Set(['a', 'g', 'l']))
        for (const [key, life] of lives) expect({ key, expires: life > 0 }).toEqual({ key, expires: true })
        for (const [key, life] of lives)
          if (key.startsWith('a:')) expect(life).toBeLessThanOrEqual(forgetAfter)
      })
  })
