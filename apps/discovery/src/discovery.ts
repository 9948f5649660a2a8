/** The discovery service: where nodes are. This is the composition root, where the features meet. */
import { join } from 'node:path'
import { discoveryPaths } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { addHealth, createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { openSql } from '@selvedge/service-kit/sql'
import { openSteadyClock, sql } from '@selvedge/service-kit/store'
import { createDpopVerifier, deriveKey } from '@selvedge/service-kit/tokens'
import type { DiscoveryConfig } from './config.ts'
import { addAccountEndpoints } from './endpoints/account.ts'
import { fixesEndpoint } from './endpoints/fixes.ts'
import { addLastFixEndpoint } from './endpoints/last-fix.ts'
import { addNodesEndpoints } from './endpoints/nodes.ts'
import { addSessionsEndpoint } from './endpoints/sessions.ts'
import { createRegistry } from './registry/registry.ts'
import { createTracks } from './registry/tracks.ts'
import { migrations } from './schema.ts'
import { createSessions, openSecret } from './sessions/sessions.ts'
import { openStore } from './stores/open-store.ts'
import { openTrust } from './trust/trust.ts'

/** Milliseconds between two searches for nodes that are to be forgotten. */
const sweepInterval = 3_600_000
/** Largest body in bytes: a hundred fixes. */
const maxBody = 64 * 1024

export async function startDiscovery(
  config: DiscoveryConfig,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Service> {
  const own = join(config.state, 'discovery', 'locations.db')
  const database = await openSql(config.store || `sqlite:${own}`, migrations)
  const silence = config['presence.interval'] * 2500
  const forgetAfter = config['nodes.forgetAfter'] * 1000
  const store = await openStore(config, database, { clock, log, silence, forgetAfter }).catch(
    async (cause) => {
      await database.close()
      throw cause
    },
  )
  const secret = await openSecret(database)
  const steady = await openSteadyClock(database, clock)
  const registry = createRegistry({
    database,
    clock,
    log,
    interval: config['presence.interval'] * 1000,
    maxNodes: config['limits.nodes'],
  })
  const tracks = createTracks(database, steady, log)
  const trust = await openTrust(config, database, { clock, log })
  const sessions = createSessions({
    secret,
    clock,
    times: { life: config['sessions.lifetime'], reportWithin: config['presence.interval'] },
    issuers: trust.realms.edgeIssuers,
    revokedReason: trust.revokedReason,
  })
  const dpop = createDpopVerifier(deriveKey(secret, 'nonces'), clock)
  let { url } = config
  const proof = () => ({ dpop, url })

  const shared = { clock, store, registry, tracks, sessions }
  const app = createHttpApp(log, maxBody, {
    hotPath: fixesEndpoint({ ...shared, clock: steady }),
    vital: [discoveryPaths.health],
  })
  addHealth(app, discoveryPaths.health, () => database.run(sql`SELECT 1`))
  addSessionsEndpoint(app, {
    ...shared,
    trust,
    proof,
    limits: { trustedProxies: config.trustedProxies, address: config['limits.address'] },
  })
  addNodesEndpoints(app, { ...shared, silence })
  addLastFixEndpoint(app, { clock, store, trust, proof })
  addAccountEndpoints(app, { clock, store, trust, proof })
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
    await listenApp(app, config['listen.address'], config['listen.port'], (own) => {
      url ||= own
    })
  } catch (cause) {
    await close()
    throw cause
  }
  trust.start()
  sweeping = setInterval(safely('discovery.forgetSilent', forgetSilent), sweepInterval)
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
