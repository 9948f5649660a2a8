/**
 * How data is stored, and how replicas share it: the database with its schema, the keys that encrypt secrets, the changes that replicas
 * follow, what replicas count together, the audit log, and the removal of expired rows.
 *
 * It depends on no other group. It must not know what the rows mean: accounts, tokens and their callers.
 */
import { join } from 'node:path'
import type { Clock, SteadyClock } from '@selvedge/service-kit/clock'
import type { Rate } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import {
  createStoreMeasures,
  type Metrics,
  measureBackup,
  measureSql,
  measureWritable,
  sqlOperations,
} from '@selvedge/service-kit/metrics'
import { openSql, withStorePassword } from '@selvedge/service-kit/sql'
import { openSteadyClock, openStoreClock, type SqlStore, sql, watchWrites } from '@selvedge/service-kit/store'
import type { IdentityConfig } from '../config.ts'
import { type Audit, createAudit } from './audit/audit.ts'
import { type Changes, openChanges } from './changes/changes.ts'
import { raiseCounters } from './changes/raise-counters.ts'
import { measureReplicas } from './replicas/measure-replicas.ts'
import { openPresence } from './replicas/presence.ts'
import { createSharedLimiter, type SharedLimiter } from './replicas/shared-limiter.ts'
import { createUsedProofs } from './replicas/used-proofs.ts'
import { migrations } from './schema.ts'
import { openSecret } from './secrets/open-secret.ts'
import { createSeal, readSealKeys, type Seal } from './secrets/seal.ts'
import { createSweep, type Sweep, type SweepTask } from './sweep/sweep.ts'

export interface Storage {
  readonly store: SqlStore
  readonly clock: SteadyClock
  readonly log: Log
  readonly changes: Changes
  readonly audit: Audit
  readonly seal: Seal
  /** Operations of the store without an answer; 0 without metrics. */
  readonly operationsUnderWay: () => number
  /** How many replicas share the store. */
  readonly replicas: () => number
  /** Stores the ID of a DPoP proof until it expires. @returns whether it was new, for all replicas */
  readonly useProof: (id: string, expiresAt: number) => Promise<boolean>
  /** A secret of the installation: the same for all replicas. */
  openSecret(name: string): Promise<Buffer>
  /** A rate limit that all replicas share. @param name keys of different limits are separate */
  limiterOf(name: string, rate: Rate): SharedLimiter
  /** @throws OAuthError `temporarily_unavailable`, or StoreError if the database does not respond */
  checkHealth(): Promise<void>
  /** What this service cannot do at present. */
  degraded(): Promise<readonly string[]>
  /** Begins to remove expired rows. @param tasks of the other groups */
  start(tasks: readonly SweepTask[]): void
  close(): Promise<void>
}

/** Environment of the process, which may contain the keys that encrypt secrets. */
type Environment = Readonly<Record<string, string | undefined>>

/** Milliseconds until the database must have answered a health check. */
const healthTimeoutMs = 2000

/** @param system the clock of the machine */
export async function openStorage(
  config: IdentityConfig,
  {
    clock: system,
    log,
    env,
    metrics,
  }: { clock: Clock; log: Log; env: Environment; metrics: Metrics | undefined },
): Promise<Storage> {
  const folder = join(config.state, 'identity')
  const keyFile = config['secrets.keyFile'] || join(folder, 'secret-keys')
  const seal = createSeal(await readSealKeys(keyFile, env, config.store === ''))
  const own = `sqlite:${join(folder, 'identity.db')}`
  const url = withStorePassword(config.store || own, config.storePasswordFile)
  const stores = createStoreMeasures(metrics, sqlOperations)
  const { store, writability } = watchWrites(measureSql(await openSql(url, migrations), stores), log)
  const storeClock = await openStoreClock(store, system, log)
  const clock = await openSteadyClock(store, storeClock)
  await raiseCounters(store, clock)
  const changes = await openChanges({ store, clock, system, log, maxAgeMs: config['replicas.maxAge'] * 1000 })
  const audit = createAudit(store, clock, {
    keepMs: config['audit.keep'] * 1000,
    perAccount: config['audit.perAccount'],
  })
  const presence = await openPresence(store, storeClock, log)
  if (metrics) {
    measureReplicas(metrics, { replicas: presence.count, ageSeconds: changes.ageSeconds })
    measureBackup(metrics, folder, system)
    measureWritable(metrics, writability.isWritable)
  }
  let sweep: Sweep | undefined

  return {
    store,
    clock,
    log,
    changes,
    audit,
    seal,
    operationsUnderWay: () => stores?.underWay() ?? 0,
    replicas: presence.count,
    useProof: createUsedProofs(store),
    openSecret: (name) => openSecret(store, seal, name),
    limiterOf: (name, rate) => createSharedLimiter(store, storeClock, name, rate),
    async checkHealth() {
      changes.checkFresh()
      await store.run({ ...sql`SELECT 1`, timeoutMs: healthTimeoutMs })
    },
    degraded: writability.degraded,
    start(tasks) {
      sweep = createSweep(clock, log, [...audit.tasks, ...tasks])
      sweep.start()
    },
    async close() {
      await sweep?.stop()
      await presence.stop()
      await changes.stop()
      await clock.stop()
      storeClock.stop()
      await store.close()
    },
  }
}
