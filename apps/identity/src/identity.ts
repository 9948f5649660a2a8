/**
 * The identity service: the global cloud (registry of nodes, issuer of edge ID tokens) and the tenant (accounts, projects,
 * token endpoint), together or apart. This is the composition root, where the features meet.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { identityPaths } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import type { Clock } from '@selvedge/service-kit/clock'
import { createRpcListener, getJson, type Listening, listenUnix } from '@selvedge/service-kit/http'
import { createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { openSqlite, type SqlStore, sql } from '@selvedge/service-kit/store'
import {
  createDpopVerifier,
  createRemoteIssuer,
  createTokenVerifier,
  type Issuer,
} from '@selvedge/service-kit/tokens'
import { adminMethodList, createAdminHandlers } from './admin/handlers.ts'
import type { IdentityConfig } from './config.ts'
import { addEdgeTokenEndpoint } from './endpoints/edge-token.ts'
import { addMetadataEndpoints } from './endpoints/metadata.ts'
import { createTokenEndpoint } from './endpoints/token.ts'
import { addVerifyHmacEndpoint } from './endpoints/verify-hmac.ts'
import { createExchange } from './grants/exchange.ts'
import { openSigningKeys } from './keys/signing-keys.ts'
import { createAccounts } from './registry/accounts.ts'
import { openDeveloperTokens } from './registry/developer-tokens.ts'
import { createEnrolmentCodes } from './registry/enrolment-codes.ts'
import { createNodes } from './registry/nodes.ts'
import { createProjects } from './registry/projects.ts'
import { migrations } from './schema.ts'

/** Most developer ID tokens that are remembered as good: one serves a fleet. An edge ID token is shown once or twice. */
const rememberedDevelopers = 1000
/** Largest body in bytes: two tokens and their fields fit many times. */
const maxBody = 64 * 1024

export async function startIdentity(
  config: IdentityConfig,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Service> {
  const store = await openSqlite(join(config.state, 'identity', 'identity.db'), migrations)
  const longestLife = Math.max(config['lifetime.developer'], config['lifetime.access'], 365 * 86_400)
  const keys = await openSigningKeys(store, clock, longestLife)
  let issuer = config.issuer
  const ownIssuer = () => issuer
  const roles = { cloud: config.role !== 'tenant', tenant: config.role !== 'cloud' }

  const accounts = createAccounts(store, clock)
  const projects = createProjects(store, clock)
  const nodes = createNodes(store, clock)
  const codes = createEnrolmentCodes(store, clock)
  const developerTokens = await openDeveloperTokens(store, clock, keys, ownIssuer)

  const issuers = new Map<string, Issuer>()
  /** This service by its own keys, another one by its published keys. */
  const issuerOf = (url: string): Issuer => {
    const known = issuers.get(url)
    if (known) return known
    const found = url === issuer ? keys.asIssuer(issuer) : createRemoteIssuer({ issuer: url, clock, getJson })
    issuers.set(url, found)
    return found
  }
  /** The issuers of a list; this service itself where the list is empty. */
  const issuersOf = (list: readonly string[]) => () =>
    list.length === 0 ? [issuerOf(issuer)] : list.map(issuerOf)
  const verifierOf = (list: readonly string[], remembered = 0) =>
    createTokenVerifier({ issuers: issuersOf(list), clock, remembered })
  const ownVerifier = verifierOf([], rememberedDevelopers)

  const tokenEndpoint = createTokenEndpoint(
    createExchange({
      clock,
      keys,
      issuer: ownIssuer,
      lifetime: config['lifetime.access'],
      projects,
      nodes,
      developerTokens,
      developerVerifier: ownVerifier,
      edgeVerifier: verifierOf(config.trustedEdgeIssuers),
    }),
  )
  const app = createHttpApp(log, maxBody, roles.tenant ? tokenEndpoint : undefined)
  addMetadataEndpoints(app, { issuer: ownIssuer, keys, roles })
  app.get(identityPaths.health, async () => ({ status: 'ok' }))
  if (roles.cloud) {
    const dpop = createDpopVerifier(await nonceSecret(store), clock)
    const audiences = () => (config.edgeAudiences.length === 0 ? [issuer] : config.edgeAudiences)
    const shared = { clock, issuer: ownIssuer, audiences, nodes, dpop }
    addEdgeTokenEndpoint(app, {
      ...shared,
      keys,
      codes,
      lifetime: config['lifetime.edge'],
      enrolment: config.enrolment,
      tenantVerifier: verifierOf(config.trustedTenants),
    })
    addVerifyHmacEndpoint(app, { ...shared, ownVerifier })
  }

  const developerLifetime = config['lifetime.developer']
  const admin = await openAdmin(
    join(config.state, 'admin.sock'),
    createAdminHandlers({ accounts, projects, developerTokens, nodes, codes, keys, developerLifetime }),
    log,
  )
  const own = await listenApp(app, config['listen.address'], config['listen.port'])
  issuer ||= own
  log.debug('ready', { issuer, role: config.role })

  return {
    ready: { url: issuer },
    async stop() {
      await app.close()
      await admin.close()
      await store.close()
      log.debug('stopped')
    },
  }
}

/** Seals the DPoP nonces; kept, so that they outlive a restart and replicas agree. */
async function nonceSecret(store: SqlStore): Promise<Buffer> {
  const fresh = randomBytes(32).toString('base64url')
  await store.run(sql`INSERT INTO settings VALUES ('nonce_secret', ${fresh}) ON CONFLICT (name) DO NOTHING`)
  const rows = await store.run(sql`SELECT value FROM settings WHERE name = 'nonce_secret'`)
  return Buffer.from(rows[0]!.value as string, 'base64url')
}

/** The operator's socket: whoever may open it is the operator, so only the owner of the state folder may. */
function openAdmin(
  path: string,
  handlers: ReturnType<typeof createAdminHandlers>,
  log: Log,
): Promise<Listening> {
  const dispatcher = createDispatcher({
    methods: adminMethodList,
    handlers,
    mirror: false,
    limits: { depth: 32, batch: 100 },
    onInternalError(method, cause) {
      const errorId = randomUUID()
      log.error('an admin method failed', { errorId, method, cause })
      return errorId
    },
  })
  const guard = { port: undefined, allowedOrigins: [] }
  const listener = createRpcListener({ dispatcher, guard, maxBody: 65_536 })
  return listenUnix(path, 0o600, { requestSeconds: 30 }, listener)
}
