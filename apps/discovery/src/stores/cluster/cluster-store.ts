/** Locations in a Valkey or Redis cluster: this process keeps nothing, so any number of them may run, and any may end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { StoreError } from '@selvedge/service-kit/store'
import { Cluster } from 'ioredis'
import type { KnownLocation, LocationStore } from '../location-store.ts'
import { accountKey, bucketOf, buckets, fromField, toField } from './keys.ts'
import { findNear } from './near.ts'
import { createWriter } from './put.ts'
import { createReader } from './reader.ts'
import { readRecord } from './record.ts'

export interface ClusterParts {
  /** Some nodes of the cluster, such as `redis://10.0.0.1:6379`; they name the others. */
  readonly urls: readonly string[]
  /** Milliseconds without a report after which a node is not listed any more. */
  readonly silenceMs: number
  /** Milliseconds without a report of any node after which an account is removed. */
  readonly forgetAfter: number
  readonly clock: Clock
  readonly log: Log
}

/** Minimum milliseconds between two polls of a watched account; slow polls are less frequent. */
const watchIntervalMs = 1000

/** @throws StoreError where no node of the cluster answers */
export async function openClusterStore(parts: ClusterParts): Promise<LocationStore> {
  const { urls, silenceMs, forgetAfter, clock, log } = parts
  const open = (scaleReads: 'master' | 'slave') => {
    const made = new Cluster([...urls], { ...settings(urls), scaleReads })
    made.on('error', (cause) => log.debug('the cluster', { reason: (cause as Error).message }))
    return made
  }
  const primaries = open('master')
  await ready(primaries, urls)
  let replicas: Cluster | undefined
  const read = createReader(primaries, () => (replicas ??= open('slave')))
  const writer = createWriter(primaries, { slotLength: silenceMs, forgetAfter })

  async function last(accountId: string, nodeIds: readonly string[]): Promise<(KnownLocation | undefined)[]> {
    const byBucket = Map.groupBy(nodeIds, bucketOf)
    const found = new Map<string, KnownLocation>()
    await Promise.all(
      [...byBucket].map(async ([bucket, ids]) => {
        const records = await read((on) => on.hmgetBuffer(accountKey(accountId, bucket), ...ids.map(toField)))
        for (const [index, record] of records.entries()) {
          if (record) found.set(ids[index]!, readRecord(accountId, ids[index]!, record))
        }
      }),
    )
    return nodeIds.map((nodeId) => found.get(nodeId))
  }

  async function ofAccount(accountId: string): Promise<KnownLocation[]> {
    const all = await Promise.all(
      buckets.map((bucket) =>
        read((on) => on.callBuffer('HGETALL', accountKey(accountId, bucket)) as Promise<Buffer[]>),
      ),
    )
    return all.flatMap((pairs) => {
      const locations: KnownLocation[] = []
      for (let at = 0; at < pairs.length; at += 2)
        locations.push(readRecord(accountId, fromField(pairs[at]!), pairs[at + 1]!))
      return locations
    })
  }

  return {
    put: (locations) => Promise.all(locations.map(writer.put)),
    last,
    ofAccount,
    near: (query) => findNear(query, { read, last, slotLength: silenceMs, now: clock.now }),
    forget: (accountId, nodeId, term) => writer.leave(accountId, nodeId, term),
    async remove(accountId, nodeId) {
      await primaries.hdel(accountKey(accountId, bucketOf(nodeId)), toField(nodeId))
    },
    watch(accountId, listener) {
      let known: Map<string, number> | undefined
      let timer: NodeJS.Timeout | undefined
      let stopped = false
      const tell = safely('cluster.watcher', listener)
      const look = safely('cluster.watch', async () => {
        const begun = performance.now()
        const locations = await ofAccount(accountId).catch(() => [])
        const before = known
        if (locations.length > 0 || !known)
          known = new Map(locations.map((each) => [each.nodeId, each.fixedAt]))
        for (const each of locations) {
          if (before && !stopped && each.fixedAt > (before.get(each.nodeId) ?? -1)) tell(each)
        }
        if (!stopped) timer = setTimeout(look, Math.max(watchIntervalMs, 10 * (performance.now() - begun)))
      })
      look()
      return () => {
        stopped = true
        clearTimeout(timer)
      }
    },
    // Each is written before it is acknowledged.
    waiting: () => 0,
    async close() {
      for (const each of [primaries, replicas]) each?.disconnect()
    },
  }
}

/** Commands wait for a failover, for as long as a device waits for its answer, and go out together where they can. */
function settings(urls: readonly string[]) {
  const first = URL.parse(urls[0] ?? '')
  return {
    enableAutoPipelining: true,
    // Called by its name, to get fields as bytes; the library loses the name in a pipeline.
    autoPipeliningIgnoredCommands: ['HGETALL'],
    retryDelayOnFailover: 100,
    retryDelayOnClusterDown: 100,
    maxRedirections: 40,
    slotsRefreshTimeout: 1000,
    slotsRefreshInterval: 2000,
    clusterRetryStrategy: (times: number) => Math.min(100 * times, 1000),
    redisOptions: {
      connectTimeout: 1000,
      maxRetriesPerRequest: 1,
      ...(first?.password && { password: decodeURIComponent(first.password) }),
      ...(first?.username && { username: decodeURIComponent(first.username) }),
      ...(first?.protocol === 'rediss:' && { tls: {} }),
    },
  }
}

/** Milliseconds within which a node of the cluster has to answer when the store is opened, and between two attempts. */
const opening = { waitMs: 5000, againMs: 100 }

/** A node that starts, or is slow, is asked again: the library gives up with the first attempt to connect. */
async function ready(cluster: Cluster, urls: readonly string[]): Promise<void> {
  const deadline = AbortSignal.timeout(opening.waitMs)
  const over = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve()))
  let reason = `no answer within ${opening.waitMs / 1000} s`
  while (!deadline.aborted) {
    const answered = cluster.ping().then(
      () => 'answered',
      (cause: Error) => {
        reason = cause.message
      },
    )
    if ((await Promise.race([answered, over])) === 'answered') return
    await Promise.race([sleep(opening.againMs), over])
  }
  cluster.disconnect()
  const where = urls.map((url) => URL.parse(url)?.host ?? url).join(', ')
  throw new StoreError(`can't reach the cluster at ${where}: ${reason}`)
}
