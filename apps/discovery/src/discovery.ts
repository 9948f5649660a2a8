/** The discovery service: where nodes are. This is the composition root, where the features meet. */
import { join } from 'node:path'
import { discoveryPaths } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { getJson } from '@selvedge/service-kit/http'
import { addHealth, createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { openSql } from '@selvedge/service-kit/sql'
import { openSteadyClock, sql } from '@selvedge/service-kit/store'
import {
  createDpopVerifier,
  createRemoteIssuer,
  createTokenVerifier,
  deriveKey,
  logOutcome,
} from '@selvedge/service-kit/tokens'
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

/** Maximum verified access tokens in the cache; an edge ID token is used once per session. */
const remembered = 10_000
/** Largest body in bytes: a hundred fixes. */
const maxBody = 64 * 1024

export async function startDiscovery(
  config: DiscoveryConfig,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Service> {
  const own = join(config.state, 'discovery', 'locations.db')
  const database = await openSql(config.store || `sqlite:${own}`, migrations)
  const silence = config['presence.interval'] * 2500
  const store = await openStore(config, database, { clock, log, silence }).catch(async (cause) => {
    await database.close()
    throw cause
  })
  const secret = await openSecret(database)
  const steady = await openSteadyClock(database, clock)
  const registry = createRegistry(database, clock, log, config['presence.interval'] * 1000)
  const tracks = createTracks(database, steady, log)
  const sessions = createSessions(secret, clock, {
    life: config['sessions.lifetime'],
    reportWithin: config['presence.interval'],
  })
  const verifierOf = (list: readonly string[], most: number) => {
    const trusted = list.length === 0 ? [config['identity.url']] : list
    const issuers = trusted.map((issuer) =>
      createRemoteIssuer({ issuer, clock, getJson, onOutcome: logOutcome(issuer, log) }),
    )
    return createTokenVerifier({ issuers: () => issuers, clock, remembered: most })
  }
  const dpop = createDpopVerifier(deriveKey(secret, 'nonces'), clock)
  let { url } = config

  const shared = { clock, store, registry, tracks, sessions }
  const app = createHttpApp(log, maxBody, {
    hotPath: fixesEndpoint({ ...shared, clock: steady }),
    vital: [discoveryPaths.health],
  })
  addHealth(app, discoveryPaths.health, () => database.run(sql`SELECT 1`))
  addSessionsEndpoint(app, {
    ...shared,
    verifier: verifierOf(config.trustedEdgeIssuers, 0),
    proof: () => ({ dpop, url }),
    limits: { trustedProxies: config.trustedProxies, address: config['limits.address'] },
  })
  addNodesEndpoints(app, { ...shared, silence })
  const tenantVerifier = verifierOf(config.trustedTenants, remembered)
  addLastFixEndpoint(app, { clock, store, verifier: tenantVerifier })
  addAccountEndpoints(app, { store, verifier: tenantVerifier })
  const close = async () => {
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
