/**
 * How the service is called: the endpoints of the cloud and of the tenant, the console, and the socket of the operator.
 *
 * It depends on the three other groups. It must not know the tables behind the registry, and only the composition root knows it.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { identityPaths } from '@selvedge/protocol'
import { type AddressSet, createAddressSet } from '@selvedge/service-kit/address-set'
import { settingOf } from '@selvedge/service-kit/config'
import { addressOf, isOwnHost } from '@selvedge/service-kit/http'
import { addFormRoutes, addHealth, createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Readiness } from '@selvedge/service-kit/lifecycle'
import type { Metrics } from '@selvedge/service-kit/metrics'
import type { Network } from '@selvedge/service-kit/network'
import type { FastifyInstance } from 'fastify'
import { type IdentityConfig, identityOptions } from '../config.ts'
import type { Registry } from '../registry/registry.ts'
import type { Storage } from '../storage/storage.ts'
import { measureTokens } from '../tokens/measure-tokens.ts'
import type { Tokens } from '../tokens/tokens.ts'
import { createAdminHandlers } from './admin/handlers.ts'
import { openAdmin } from './admin/listen.ts'
import { addConsole } from './console/console.ts'
import { joinKeyHandlers } from './console/handlers/join-keys.ts'
import { shareHandlers } from './console/handlers/shares.ts'
import { addAccountApi } from './endpoints/account-api.ts'
import { addCors } from './endpoints/cors.ts'
import { addDeviceAuthorizationEndpoint } from './endpoints/device-authorization.ts'
import { addEdgeTokenEndpoint } from './endpoints/edge-token.ts'
import { addIntrospectEndpoint } from './endpoints/introspect.ts'
import { addMetadataEndpoints } from './endpoints/metadata.ts'
import { addPushedAuthorizationEndpoint } from './endpoints/pushed-authorization.ts'
import { addRevocationsEndpoint } from './endpoints/revocations.ts'
import { addRevokeEndpoint } from './endpoints/revoke.ts'
import { createTokenEndpoint } from './endpoints/token.ts'
import { addUserInfoEndpoint } from './endpoints/userinfo.ts'
import { addVerifyHmacEndpoint } from './endpoints/verify-hmac.ts'

/** What every endpoint may use: no endpoint starts or ends a group. */
type Parts = Omit<Storage & Registry & Tokens, 'start' | 'close'> & {
  readonly config: IdentityConfig
  readonly issuer: () => string
  readonly consoleUrl: () => string
  readonly epoch: () => number
  readonly trustedProxies: AddressSet
  readonly readiness: Readiness
  readonly network: Network
}

/** Largest body in bytes: two tokens and their fields fit many times. */
const maxBodyBytes = 64 * 1024
/** What is served in an overload, too: the health check, what revokes tokens, and what verifies them. Each costs little. */
const vital = [
  identityPaths.health,
  identityPaths.ready,
  identityPaths.revocations,
  identityPaths.revoke,
  identityPaths.jwks,
  identityPaths.oauthMetadata,
  identityPaths.openidConfiguration,
]

/**
 * Listens: from here on, callers are answered.
 *
 * @throws ListenError
 */
export async function openApi(
  config: IdentityConfig,
  storage: Storage,
  registry: Registry,
  tokens: Tokens,
  { metrics, readiness, network }: { metrics: Metrics | undefined; readiness: Readiness; network: Network },
): Promise<{ close(): Promise<void> }> {
  const { urls } = registry
  const measured = metrics && measureTokens(metrics, { ...tokens, storeUnderWay: storage.operationsUnderWay })
  const parts: Parts = {
    ...storage,
    ...registry,
    ...tokens,
    ...measured,
    ...{ readiness, network },
    config,
    issuer: urls.issuer,
    consoleUrl: urls.console,
    epoch: storage.changes.epoch,
    trustedProxies: createAddressSet(config.trustedProxies),
  }
  const isTenant = config.role !== 'cloud'
  const isCloud = config.role !== 'tenant'
  const endpoint = createTokenEndpoint(parts)
  const app = createHttpApp(storage.log, maxBodyBytes, {
    hotPath: isTenant ? (measured?.tokenEndpoint(endpoint) ?? endpoint) : undefined,
    vital,
    readiness,
    acceptsHost: (host) => isOwnHost(host, urls.hosts()),
  })
  measured?.edgeEndpoint(app)
  addCommon(app, parts, { cloud: isCloud, tenant: isTenant })
  if (isTenant) addTenant(app, parts)
  if (isCloud) addCloud(app, parts)
  const setting = settingOf(identityOptions, 'listen.port')
  await listenApp(app, config['listen.address'], config['listen.port'], setting, urls.listen)
  const handlers = createAdminHandlers({ ...parts, developerLifetimeSeconds: config['lifetime.developer'] })
  const admin = await openAdmin(join(config.state, 'admin.sock'), handlers, storage)
  return {
    async close() {
      await app.close()
      await admin.close()
    },
  }
}

/** What every role serves. The hook runs before all routes but the token endpoint, which counts its own requests. */
function addCommon(app: FastifyInstance, parts: Parts, roles: { cloud: boolean; tenant: boolean }): void {
  const { limits, changes, trustedProxies } = parts
  app.addHook('onRequest', async ({ raw, url }) => {
    if (url === identityPaths.health || url === identityPaths.ready) return
    limits.takeAddress(addressOf(raw, trustedProxies))
    await changes.ensureFresh()
  })
  if (roles.tenant) addCors(app, parts)
  addMetadataEndpoints(app, { ...parts, roles })
  addRevocationsEndpoint(app, parts.revocationList)
  addHealth(app, identityPaths, parts.checkHealth, parts.readiness, parts.degraded)
}

/** Accounts, projects, the tokens for them, and the console. */
function addTenant(app: FastifyInstance, parts: Parts): void {
  const { config } = parts
  addFormRoutes(app, (routes) => {
    addDeviceAuthorizationEndpoint(routes, parts)
    addPushedAuthorizationEndpoint(routes, parts)
    addRevokeEndpoint(routes, parts)
    addIntrospectEndpoint(routes, parts)
  })
  addUserInfoEndpoint(app, parts)
  addAccountApi(app, { ...parts, handlers: { ...shareHandlers(parts), ...joinKeyHandlers(parts) } })
  const ownConsole = addConsole(app, {
    ...parts,
    discoveryUrl: config['discovery.url'],
    map: { style: config['console.mapStyle'], hosts: config['console.mapHosts'] },
    lifetimes: {
      access: config['lifetime.access'],
      developer: config['lifetime.developer'],
      edge: config['lifetime.edge'],
    },
    pages: fileURLToPath(new URL('./console', import.meta.url)),
  })
  app.addHook('preClose', (done) => {
    ownConsole.close()
    done()
  })
}

/** What nodes call. */
function addCloud(app: FastifyInstance, parts: Parts): void {
  addEdgeTokenEndpoint(app, parts)
  addVerifyHmacEndpoint(app, { ...parts, ownVerifier: parts.cachedVerifier })
}
