/** The discovery service: where nodes are. This is the composition root, where the features meet. */
import { join } from 'node:path'
import { discoveryPaths, onlineWindowMs } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import type { Clock } from '@selvedge/service-kit/clock'
import { settingOf } from '@selvedge/service-kit/config'
import { addHealth, createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Readiness, Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import {
  createStoreMeasures,
  type Metrics,
  measureBackup,
  measureSql,
  measureWritable,
  sqlOperations,
} from '@selvedge/service-kit/metrics'
import type { Network } from '@selvedge/service-kit/network'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { openSql, withStorePassword } from '@selvedge/service-kit/sql'
import { openSteadyClock, sql, watchWrites } from '@selvedge/service-kit/store'
import { createDpopVerifier, deriveKey } from '@selvedge/service-kit/tokens'
import { type DiscoveryConfig, discoveryOptions } from './config.ts'
import { addAccountEndpoints } from './endpoints/account.ts'
import { fixesEndpoint } from './endpoints/fixes.ts'
import { addLastFixEndpoint } from './endpoints/last-fix.ts'
import { addNodesEndpoints } from './endpoints/nodes.ts'
import { addSessionsEndpoint } from './endpoints/sessions.ts'
import { measureDiscovery, measureReports, measureSessions } from './measure.ts'
import { createRegistry } from './registry/registry.ts'
import { createTracks } from './registry/tracks.ts'
import { migrations } from './schema.ts'
import { createSessions, openSecret } from './sessions/sessions.ts'
import { locationOperations, measureLocations } from './stores/measure-locations.ts'
import { openStore } from './stores/open-store.ts'
import { openTrust } from './trust/trust.ts'

/** Milliseconds between two searches for nodes that are to be forgotten. */
const sweepIntervalMs = 3_600_000
/** Largest body in bytes: a hundred fixes. */
const maxBodyBytes = 64 * 1024

/** Labels of requests in metrics. */
export const httpRoutes = [
  discoveryPaths.sessions,
  discoveryPaths.fixes,
  discoveryPaths.nodes,
  `${discoveryPaths.nodes}/*`,
  discoveryPaths.accountFixes,
  discoveryPaths.accountStream,
  discoveryPaths.accountPlaces,
  discoveryPaths.health,
  discoveryPaths.ready,
]

const openDatabase = async (
  url: string,
  stores: ReturnType<
    typeof createStoreMeasures<(typeof sqlOperations)[number] | (typeof locationOperations)[number]>
  >,
  log: Log,
) => watchWrites(measureSql(await openSql(url, migrations), stores), log)

/** What the service gets from its process. */
interface DiscoveryParts {
  readonly clock: Clock
  readonly log: Log
  readonly network: Network
  readonly metrics?: Metrics
  readonly readiness?: Readiness
}

export async function startDiscovery(
  config: DiscoveryConfig,
  { clock, log, metrics, readiness, network }: DiscoveryParts,
): Promise<Service> {
  const own = `sqlite:${join(config.state, 'discovery', 'locations.db')}`
  const where = withStorePassword(config.store || own, config.storePasswordFile)
  const stores = createStoreMeasures(metrics, [...sqlOperations, ...locationOperations])
  const { store: database, writability } = await openDatabase(where, stores, log)
  const reportSeconds = config['presence.interval']
  const silenceMs = onlineWindowMs(reportSeconds)
  const forgetAfter = config['nodes.forgetAfter'] * 1000
  const opened = await openStore(config, database, { clock, log, silenceMs, forgetAfter }).catch(
    async (cause) => {
      await database.close()
      throw cause
    },
  )
  const store = measureLocations(opened, stores)
  const secret = await openSecret(database)
  const steady = await openSteadyClock(database, clock)
  const registry = createRegistry({
    database,
    clock,
    log,
    writeIntervalMs: reportSeconds * 1000,
    maxNodes: config['limits.nodes'],
  })
  const tracks = createTracks(database, steady, log)
  const trust = await openTrust(config, database, { clock, log, network })
  const sessions = createSessions({
    secret,
    clock,
    times: { lifeSeconds: config['sessions.lifetime'], reportSeconds },
    issuers: trust.realms.edgeIssuers,
    revokedReason: trust.revokedReason,
  })
  const dpop = createDpopVerifier(deriveKey(secret, 'nonces'), clock)
  let { url } = config
  const proof = () => ({ dpop, url })

  const shared = { clock, store, registry, tracks, sessions: measureSessions(sessions, metrics) }
  const reports = measureReports(fixesEndpoint({ ...shared, clock: steady }), metrics)
  if (metrics) {
    measureWritable(metrics, writability.isWritable)
    measureBackup(metrics, join(config.state, 'discovery'), clock)
    measureDiscovery(metrics, { reports, registry, store, trust, operations: stores!.underWay })
  }
  const app = createHttpApp(log, maxBodyBytes, {
    hotPath: reports.endpoint,
    vital: [discoveryPaths.health, discoveryPaths.ready],
    ...(readiness && { readiness }),
  })
  const check = () => database.run(sql`SELECT 1`)
  addHealth(app, discoveryPaths, check, readiness, writability.degraded)
  addSessionsEndpoint(app, {
    ...shared,
    trust,
    proof,
    limits: { trustedProxies: createAddressSet(config.trustedProxies), address: config['limits.address'] },
  })
  addNodesEndpoints(app, { ...shared, reportSeconds })
  addLastFixEndpoint(app, { clock, store, trust, proof })
  addAccountEndpoints(app, { ...shared, trust, proof })
  const forgetSilent = shareRun(() =>
    registry.forgetSilent(steady.past() - forgetAfter, ({ accountId, nodeId }) =>
      store.remove(accountId, nodeId),
    ),
  )
  let sweeping: NodeJS.Timeout | undefined
  const close = async () => {
    clearInterval(sweeping)
    await trust.stop()
    await forgetSilent.present()?.catch(() => undefined)
    tracks.close()
    await steady.stop()
    await registry.close()
    await store.close()
    await database.close()
  }
  try {
    const setting = settingOf(discoveryOptions, 'listen.port')
    await listenApp(app, config['listen.address'], config['listen.port'], setting, (own) => {
      url ||= own
    })
  } catch (cause) {
    await close()
    throw cause
  }
  trust.start()
  sweeping = setInterval(safely('discovery.forgetSilent', forgetSilent), sweepIntervalMs)
  log.debug('ready', { url })

  return {
    ready: { url },
    async stop() {
      await app.close()
      await close()
      log.debug('stopped')
    },
  }
}
