/** The discovery service: where nodes are. This is the composition root, where the features meet. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { discoveryPaths } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { getJson } from '@selvedge/service-kit/http'
import { createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { createDpopVerifier, createRemoteIssuer, createTokenVerifier } from '@selvedge/service-kit/tokens'
import type { DiscoveryConfig } from './config.ts'
import { addAccountEndpoints } from './endpoints/account.ts'
import { addFixesEndpoint } from './endpoints/fixes.ts'
import { addLastFixEndpoint } from './endpoints/last-fix.ts'
import { openEmbeddedStore } from './stores/embedded-store.ts'

/** Most tokens that are remembered as good, for each kind. */
const remembered = 100_000
/** Largest body in bytes: a hundred fixes. */
const maxBody = 64 * 1024

export async function startDiscovery(
  config: DiscoveryConfig,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Service> {
  const store = await openEmbeddedStore(join(config.state, 'discovery', 'locations.db'))
  const verifierOf = (list: readonly string[]) => {
    const trusted = list.length === 0 ? [config['identity.url']] : list
    const issuers = trusted.map((issuer) => createRemoteIssuer({ issuer, clock, getJson }))
    return createTokenVerifier({ issuers: () => issuers, clock, remembered })
  }
  // A proof is good for this process only: after a restart the first one is answered with a new nonce.
  const dpop = createDpopVerifier(randomBytes(32), clock)
  let { url } = config

  const app = createHttpApp(log, maxBody)
  app.get(discoveryPaths.health, async () => ({ status: 'ok' }))
  addFixesEndpoint(app, {
    clock,
    store,
    verifier: verifierOf(config.trustedEdgeIssuers),
    proof: () => ({ dpop, url }),
  })
  const tenantVerifier = verifierOf(config.trustedTenants)
  addLastFixEndpoint(app, { clock, store, verifier: tenantVerifier })
  addAccountEndpoints(app, { store, verifier: tenantVerifier })
  const own = await listenApp(app, config['listen.address'], config['listen.port']).catch(async (cause) => {
    await store.close()
    throw cause
  })
  url ||= own
  log.debug('ready', { url })

  return {
    ready: { url },
    async stop() {
      await app.close()
      await store.close()
      log.debug('stopped')
    },
  }
}
