/** What a cluster of stores costs: its primaries, and the process of the service before them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '@selvedge/service-kit/store'
import { createMemoryLog, startRedisCluster } from '@selvedge/service-kit/testing'
import { migrations } from '../../apps/discovery/src/schema.ts'
import { openClusterStore } from '../../apps/discovery/src/stores/cluster/cluster-store.ts'
import { openEmbeddedStore } from '../../apps/discovery/src/stores/embedded/embedded-store.ts'
import type { LocationStore } from '../../apps/discovery/src/stores/location-store.ts'
import type { Row } from '../measure.ts'
import { batch, clock, createMoves } from '../moves.ts'

/** Milliseconds. */
const forgetAfter = 86_400_000
const silenceMs = 300_000

export async function clusterRows(): Promise<Row[]> {
  return [...(await scalingRows()), ...(await serviceRows())]
}

/** What the process of the service spends on reports of one fix and on questions, as they come in: many callers at once. */
async function serviceRows(): Promise<Row[]> {
  const cluster = await startRedisCluster(3, 0)
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const database = await openSqlite(join(folder, 'locations.db'), migrations)
  const log = createMemoryLog()
  const stores = {
    cluster: await openClusterStore({ urls: cluster.urls, silenceMs, forgetAfter, clock, log }),
    embedded: await openEmbeddedStore(database, log),
  }
  try {
    const ours = await costOf(stores.cluster)
    const embedded = await costOf(stores.embedded)
    const row = (name: string, one: number, other: number): Row => ({
      name: `locations, ${name}: the process of the service`,
      ours: one,
      peer: other,
      ratio: one / other,
      unit: 'CPU µs, with a cluster',
      against: 'the embedded engine',
      reach: 'reported',
      reached: null,
    })
    return [
      row('a report of one', ours.report, embedded.report),
      row('a question', ours.question, embedded.question),
    ]
  } finally {
    for (const store of Object.values(stores)) await store.close()
    await database.close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A hundred thousand nodes of a thousand accounts; each second one is shared to the kilometre. */
async function costOf(store: LocationStore): Promise<{ report: number; question: number }> {
  const size = 100_000
  const accounts = 1000
  const data = createMoves(size)
  let next = 0
  const owned = () =>
    data.moves().map((each) => {
      const index = next++ % size
      const others = index % 2 === 0 ? ('1km' as const) : ('none' as const)
      return {
        ...each,
        term: 1,
        accountId: `account ${index % accounts}`,
        sharing: { ...each.sharing, others },
      }
    })
  for (let from = 0; from < size; from += batch) await store.put(owned())
  const reports = Array.from({ length: 40 }, owned).flat()
  const report = await cpuOf(reports.length, 64, (index) => store.put([reports[index]!]))
  const question = await cpuOf(4000, 16, (index) => {
    const { longitude, latitude } = data.somewhere()
    const accountId = `account ${index % accounts}`
    return store.near({ accountId, except: '', heardSince: 0, longitude, latitude, radius: 5000, limit: 20 })
  })
  return { report, question }
}

/** Microseconds of this process for each of so many pieces of work, some of them at once. */
async function cpuOf(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let index = 0
  const before = process.cpuUsage()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (index < count) await work(index++)
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/**
 * What a cluster can take is what its busiest primary can. Two cores can't show three primaries at work, so what counts is how
 * many commands the busiest one has to do for the same updates: on one primary, and on three.
 */
async function scalingRows(): Promise<Row[]> {
  const measureCluster = async (primaries: number) => {
    const cluster = await startRedisCluster(primaries, 0)
    const store = await openClusterStore({
      urls: cluster.urls,
      silenceMs,
      forgetAfter,
      clock,
      log: createMemoryLog(),
    })
    const sumOf = (port: number, section: string, pattern: RegExp) =>
      [...cluster.command(port, 'info', section).matchAll(pattern)].reduce(
        (sum, [, value]) => sum + Number(value),
        0,
      )
    const memory = () =>
      cluster.ports.reduce((sum, port) => sum + sumOf(port, 'memory', /^used_memory:(\d+)/gm), 0)
    try {
      const data = createMoves(100_000)
      const before = memory()
      for (let round = 0; round < 100; round++) {
        const moves = data
          .moves()
          .map((each, index) => ({ ...each, term: 1, accountId: `account ${index % 200}` }))
        await store.put(moves)
      }
      const spent = cluster.ports.map((port) => 1e6 * sumOf(port, 'cpu', /^used_cpu_(?:user|sys):(\S+)/gm))
      const commands = cluster.ports.map((port) =>
        sumOf(port, 'commandstats', /cmdstat_(?:hget|hset|geoadd|pexpire|evalsha|eval):calls=(\d+)/g),
      )
      const perNode = Math.round((memory() - before) / 100_000)
      process.stderr.write(
        `  ${primaries} primaries, 100,000 nodes: ${commands.join(', ')} commands, ${spent.map((usec) => `${Math.round(usec / 1000)} ms`).join(', ')}, ${perNode} B a node\n`,
      )
      return { commands: Math.max(...commands), perNode }
    } finally {
      await store.close()
      await cluster.stop()
    }
  }
  const one = await measureCluster(1)
  const three = await measureCluster(3)
  const ratio = one.commands / three.commands
  return [
    {
      name: 'locations, three primaries in place of one',
      ours: three.commands,
      peer: one.commands,
      ratio,
      unit: 'commands of the busiest primary for 100,000 updates',
      against: 'one primary',
      reach: 'a 2.2th of them, or less',
      reached: ratio >= 2.2,
    },
    {
      name: 'locations, memory of the cluster',
      ours: three.perNode,
      peer: three.perNode,
      ratio: 1,
      unit: 'bytes a node, without replicas',
      against: 'nobody',
      reach: 'reported',
      reached: null,
    },
  ]
}
