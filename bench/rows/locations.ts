/** Engines for locations, on the same data: ours, and what people use for it directly. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openSqlite } from '@selvedge/service-kit/store'
import {
  createMemoryLog,
  type RedisCluster,
  startPostgres,
  startRedisCluster,
} from '@selvedge/service-kit/testing'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import RBush from 'rbush'
import { migrations } from '../../apps/discovery/src/schema.ts'
import { openClusterStore } from '../../apps/discovery/src/stores/cluster/cluster-store.ts'
import { openEmbeddedStore } from '../../apps/discovery/src/stores/embedded/embedded-store.ts'
import type { Location, LocationStore } from '../../apps/discovery/src/stores/location-store.ts'
import { limitRow, type Row, rounds } from '../measure.ts'
import { batch, clock, createMoves } from '../moves.ts'

/** A contestant: takes a thousand moves, and answers who is within five kilometres, twenty at most. */
interface Engine {
  put(moves: readonly Location[]): Promise<void>
  near(longitude: number, latitude: number): Promise<number>
  close(): Promise<void>
}

const radius = 5000
const limit = 20
const seconds = Number(process.env.SELVEDGE_BENCH_SECONDS ?? 2)

const ofStore = (store: LocationStore, close: () => Promise<void>): Engine => ({
  put: async (moves) => void (await store.put(moves.map((each) => ({ ...each, term: 1 })))),
  near: async (longitude, latitude) =>
    (
      await store.near({
        accountId: 'account',
        except: '',
        heardSince: 0,
        longitude,
        latitude,
        radius,
        limit,
      })
    ).length,
  close,
})

async function openEmbedded(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const database = await openSqlite(join(folder, 'locations.db'), migrations)
  const store = await openEmbeddedStore(database, createMemoryLog())
  return ofStore(store, async () => {
    await store.close()
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** A place is a point of GEOGRAPHY with a GiST index, and is updated by its id, a thousand in a statement. */
async function openPostgis(): Promise<Engine> {
  const server = await startPostgres(['fsync=on', 'shared_buffers=1GB', 'max_wal_size=4GB'])
  const sql = postgres(await server.createDatabase(), { max: 4, onnotice: () => undefined })
  await sql`CREATE EXTENSION postgis`
  await sql`CREATE TABLE places (id TEXT PRIMARY KEY, place GEOGRAPHY(POINT), speed REAL, bearing REAL, fixed_at BIGINT)`
  await sql`CREATE INDEX ON places USING GIST (place)`
  return {
    async put(moves) {
      await sql`INSERT INTO places SELECT id, ST_SetSRID(ST_MakePoint(x, y), 4326)::geography, speed, bearing, fixed_at FROM unnest(
          ${moves.map((each) => each.nodeId)}::text[], ${moves.map((each) => each.longitude)}::float8[],
          ${moves.map((each) => each.latitude)}::float8[], ${moves.map((each) => each.speed)}::real[],
          ${moves.map((each) => each.bearing)}::real[], ${moves.map((each) => each.fixedAt)}::bigint[])
          AS t (id, x, y, speed, bearing, fixed_at)
        ON CONFLICT (id) DO UPDATE SET place = excluded.place, speed = excluded.speed, bearing = excluded.bearing,
          fixed_at = excluded.fixed_at WHERE excluded.fixed_at >= places.fixed_at`
    },
    async near(longitude, latitude) {
      const rows =
        await sql`SELECT id, place <-> ST_SetSRID(ST_MakePoint(${longitude}, ${latitude}), 4326)::geography AS distance FROM places
        WHERE ST_DWithin(place, ST_SetSRID(ST_MakePoint(${longitude}, ${latitude}), 4326)::geography, ${radius}) ORDER BY distance LIMIT ${limit}`
      return rows.length
    },
    async close() {
      await sql.end()
      await server.stop()
    },
  }
}

/** One key with all nodes, and a hash with the other data: GEOADD and GEOSEARCH as their manual shows them. */
async function openRedisGeo(): Promise<Engine> {
  const cluster = await startRedisCluster(3, 0)
  const [url] = cluster.urls
  // One key is one shard: the one that it belongs to.
  const nodes = await Promise.all(cluster.urls.map(async (each) => new Redis(each)))
  const slot = Number(cluster.command(Number(new URL(url!).port), 'cluster', 'keyslot', '{all}'))
  const owner = nodes[slot < 5461 ? 0 : slot < 10_923 ? 1 : 2]!
  return {
    async put(moves) {
      const pipeline = owner.pipeline()
      pipeline.geoadd(
        '{all}',
        ...(moves.flatMap((each) => [
          each.longitude,
          Math.max(-85, Math.min(85, each.latitude)),
          each.nodeId,
        ]) as [number, number, string]),
      )
      pipeline.hset(
        '{all}:records',
        ...moves.flatMap((each) => [each.nodeId, `${each.speed} ${each.bearing} ${each.fixedAt}`]),
      )
      await pipeline.exec()
    },
    near: async (longitude, latitude) =>
      (
        (await owner.geosearch(
          '{all}',
          'FROMLONLAT',
          longitude,
          Math.max(-85, Math.min(85, latitude)),
          'BYRADIUS',
          radius,
          'm',
          'ASC',
          'COUNT',
          limit,
        )) as unknown[]
      ).length,
    async close() {
      for (const each of nodes) each.disconnect()
      await cluster.stop()
    },
  }
}

/** An R-tree in memory, nothing durable. */
async function openRbush(): Promise<Engine> {
  interface Box {
    minX: number
    minY: number
    maxX: number
    maxY: number
  }
  const tree = new RBush<Box>()
  const known = new Map<string, Box>()
  return {
    async put(moves) {
      for (const { nodeId, longitude, latitude } of moves) {
        const before = known.get(nodeId)
        if (before) tree.remove(before)
        const box = { minX: longitude, minY: latitude, maxX: longitude, maxY: latitude }
        known.set(nodeId, box)
        tree.insert(box)
      }
    },
    async near(longitude, latitude) {
      const height = radius / 111_195
      const width = height / Math.max(0.01, Math.cos((latitude * Math.PI) / 180))
      const found = tree.search({
        minX: longitude - width,
        maxX: longitude + width,
        minY: latitude - height,
        maxY: latitude + height,
      })
      const away = ({ minX, minY }: Box) =>
        ((minX - longitude) * (height / width)) ** 2 + (minY - latitude) ** 2
      return found.sort((a, b) => away(a) - away(b)).slice(0, limit).length
    },
    close: async () => undefined,
  }
}

async function openOurCluster(): Promise<Engine> {
  const cluster: RedisCluster = await startRedisCluster(3, 0)
  const store = await openClusterStore({
    urls: cluster.urls,
    silenceMs: 300_000,
    forgetAfter: 86_400_000,
    clock,
    log: createMemoryLog(),
  })
  return ofStore(store, async () => {
    await store.close()
    await cluster.stop()
  })
}

interface Figures {
  readonly updates: number
  readonly p50: number
  readonly p99: number
  /** Bytes a node that the process has grown by. */
  readonly memory: number
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const heldMemory = () => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

async function measure(open: () => Promise<Engine>, size: number): Promise<Figures> {
  const data = createMoves(size)
  const engine = await open()
  try {
    const before = heldMemory()
    for (let from = 0; from < size; from += batch) await engine.put(data.first(from))
    const memory = Math.round((heldMemory() - before) / size)
    let updates = 0
    const times: number[] = []
    for (let round = 0; round < Math.min(3, rounds); round++) {
      const until = performance.now() + seconds * 1000
      let count = 0
      let spent = 0
      while (performance.now() < until) {
        const moves = data.moves()
        const begun = performance.now()
        await engine.put(moves)
        spent += performance.now() - begun
        count += moves.length
      }
      updates = Math.max(updates, count / (spent / 1000))
      for (let ask = 0; ask < 1000; ask++) {
        const { longitude, latitude } = data.somewhere()
        const begun = performance.now()
        await engine.near(longitude, latitude)
        times.push((performance.now() - begun) * 1000)
      }
    }
    times.sort((a, b) => a - b)
    return {
      updates,
      p50: times[Math.floor(times.length / 2)]!,
      p99: times[Math.floor(times.length * 0.99)]!,
      memory,
    }
  } finally {
    await engine.close()
  }
}

const contestants = {
  embedded: openEmbedded,
  cluster: openOurCluster,
  PostGIS: openPostgis,
  'Redis GEO, one key': openRedisGeo,
  rbush: openRbush,
} as const

export async function locationRows(): Promise<Row[]> {
  const rows: Row[] = []
  const sizes = (process.env.SELVEDGE_BENCH_NODES ?? '10000,100000,1000000').split(',').map(Number)
  for (const size of sizes) {
    const figures = {} as Record<keyof typeof contestants, Figures>
    for (const [name, open] of Object.entries(contestants) as [
      keyof typeof contestants,
      () => Promise<Engine>,
    ][]) {
      figures[name] = await measure(open, size)
      const { updates, p50, p99, memory } = figures[name]
      process.stderr.write(
        `  ${size} nodes, ${name}: ${Math.round(updates)} updates/s, query p50 ${Math.round(p50)} µs, p99 ${Math.round(p99)} µs, ${memory} B a node\n`,
      )
    }
    const title = `${size.toLocaleString('en')} nodes`
    for (const ours of ['embedded', 'cluster'] as const) {
      for (const peer of ['PostGIS', 'Redis GEO, one key', 'rbush'] as const) {
        const isMeant = ours === 'embedded' && peer === 'PostGIS'
        const rate = figures[ours].updates / figures[peer].updates
        const time = figures[ours].p99 / figures[peer].p99
        rows.push(
          {
            name: `locations, ${title}, updates of the ${ours} engine`,
            ours: figures[ours].updates,
            peer: figures[peer].updates,
            ratio: rate,
            unit: 'updates per second, 1,000 at a time',
            against: peer,
            reach: isMeant ? 'ratio ≥ 5' : 'reported',
            reached: isMeant ? rate >= 5 : null,
          },
          {
            name: `locations, ${title}, query p99 of the ${ours} engine`,
            ours: figures[ours].p99,
            peer: figures[peer].p99,
            ratio: time,
            unit: 'µs, 20 nearest within 5 km',
            against: peer,
            reach: isMeant ? 'ratio ≤ 1' : 'reported',
            reached: isMeant ? time <= 1 : null,
          },
        )
      }
    }
    const unit = 'bytes a node'
    rows.push(
      limitRow(
        { name: `locations, ${title}, memory of the embedded engine`, unit, against: 'the limit' },
        figures.embedded.memory,
        400,
      ),
    )
  }
  return rows
}
