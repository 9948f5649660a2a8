/**
 * The identity service: the global cloud (registry of nodes, issuer of edge ID tokens) and the tenant (accounts, projects,
 * token endpoint, console), together or apart. This is the composition root, where the features meet.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { identityPaths } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { addressOf, isOwnHost, type Rate } from '@selvedge/service-kit/http'
import { addFormRoutes, addHealth, createHttpApp, listenApp } from '@selvedge/service-kit/http-app'
import type { Service } from '@selvedge/service-kit/lifecycle'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { openSql } from '@selvedge/service-kit/sql'
import { openSteadyClock, openStoreClock, sql } from '@selvedge/service-kit/store'
import { createDpopVerifier, shareDpopVerifier } from '@selvedge/service-kit/tokens'
import { createAdminHandlers } from './admin/handlers.ts'
import { openAdmin } from './admin/listen.ts'
import { createAudit } from './audit/audit.ts'
import { openChanges } from './changes/changes.ts'
import { raiseCounters } from './changes/raise-counters.ts'
import type { IdentityConfig } from './config.ts'
import { addConsole } from './console/console.ts'
import { createPlaces } from './console/places.ts'
import { addDeviceAuthorizationEndpoint } from './endpoints/device-authorization.ts'
import { addEdgeTokenEndpoint } from './endpoints/edge-token.ts'
import { addIntrospectEndpoint } from './endpoints/introspect.ts'
import { addMetadataEndpoints } from './endpoints/metadata.ts'
import { addRevokeEndpoint } from './endpoints/revoke.ts'
import { createTokenEndpoint } from './endpoints/token.ts'
import { addUserInfoEndpoint } from './endpoints/userinfo.ts'
import { addVerifyHmacEndpoint } from './endpoints/verify-hmac.ts'
import { createDeviceRequests } from './grants/device-requests.ts'
import { createExchange } from './grants/exchange.ts'
import { createGrants } from './grants/index.ts'
import { createLimits } from './grants/limits.ts'
import { createMint } from './grants/mint.ts'
import { createSignIns, type SignIns } from './grants/sign-ins.ts'
import { createSeal, readSealKeys } from './keys/seal.ts'
import { openSigningKeys } from './keys/signing-keys.ts'
import { createAccounts } from './registry/accounts.ts'
import { createDeveloperTokens } from './registry/developer-tokens.ts'
import { createEnrolmentCodes } from './registry/enrolment-codes.ts'
import { createLinks } from './registry/links.ts'
import { createNodes } from './registry/nodes.ts'
import { createOneTime } from './registry/one-time.ts'
import { createPeople } from './registry/people.ts'
import { createProjects } from './registry/projects.ts'
import { openPresence } from './replicas/presence.ts'
import { createSharedLimiter } from './replicas/shared-limiter.ts'
import { createUsedProofs } from './replicas/used-proofs.ts'
import { revocationExpiry } from './revocation/expiry.ts'
import { addRevocationsEndpoint } from './revocation/feed.ts'
import { createFolding } from './revocation/folding.ts'
import { openRevocationList } from './revocation/list.ts'
import { openRevocations } from './revocation/revocations.ts'
import { migrations } from './schema.ts'
import { openSecret } from './settings.ts'
import { createSweep } from './sweep/sweep.ts'
import { removeExpiredRows } from './sweep-tasks.ts'
import { openTrust } from './trust/trust.ts'

/** Maximum verified developer ID tokens in the cache: one serves a fleet. An edge ID token is used once or twice. */
const rememberedDevelopers = 1000
/** Largest body in bytes: two tokens and their fields fit many times. */
const maxBody = 64 * 1024
/** Milliseconds between two checks of the age of the signing key. */
const keysInterval = 60_000
/** Milliseconds for the store to answer a check of this service's health. */
const healthTimeout = 2000
/** Seconds until the link for the first owner expires; each start makes a new one. */
const setupLife = 86_400
/** What is served in an overload, too: the sign of life, what ends tokens, and what verifies them. Each costs little. */
const vital = [
  identityPaths.health,
  identityPaths.revocations,
  identityPaths.revoke,
  identityPaths.jwks,
  identityPaths.oauthMetadata,
  identityPaths.openidConfiguration,
]
/** Longest lives in seconds: of any token, and of one that others than this service check. */
const longest = { any: 366 * 86_400, checkedByOthers: 2 * 86_400 }

export async function startIdentity(
  config: IdentityConfig,
  { clock: system, log, env }: { clock: Clock; log: Log; env: Readonly<Record<string, string | undefined>> },
): Promise<Service> {
  const folder = join(config.state, 'identity')
  const seal = createSeal(
    await readSealKeys(config['secrets.keyFile'] || join(folder, 'secret-keys'), env, config.store === ''),
  )
  const store = await openSql(config.store || `sqlite:${join(folder, 'identity.db')}`, migrations)
  const storeClock = await openStoreClock(store, system, log)
  const clock = await openSteadyClock(store, storeClock)
  let issuer = config.issuer
  const ownIssuer = () => issuer
  const roles = { cloud: config.role !== 'tenant', tenant: config.role !== 'cloud' }
  const { trustedProxies } = config

  await raiseCounters(store, clock)
  const changes = await openChanges({ store, clock, system, log, maxAgeMs: config['replicas.maxAge'] * 1000 })
  const keys = await openSigningKeys({
    store,
    clock,
    changes,
    seal,
    longestLife: longest.any,
    publishedLife: longest.checkedByOthers,
    rotateAfter: config['keys.rotateAfter'],
  })
  const folding = createFolding({
    store,
    clock,
    changes,
    log,
    bounds: { perAccount: config['revocations.perAccount'], inAll: config['revocations.inAll'] },
  })
  const revocations = await openRevocations(store, clock, changes, longest.any, folding)
  const revocationList = await openRevocationList({ store, clock, keys, issuer: ownIssuer })
  const audit = createAudit(store, clock, {
    keepMs: config['audit.keep'] * 1000,
    perAccount: config['audit.perAccount'],
  })
  const people = createPeople(store, changes, revocations)
  const accounts = createAccounts(store, clock)
  const oneTime = createOneTime(store, clock)
  const links = createLinks(store, clock, config['limits.members'])
  const projects = createProjects(store, clock, changes, config['limits.projects'])
  const nodes = createNodes({
    store,
    clock,
    changes,
    seal,
    revocations,
    forgetAfterMs: config['nodes.forgetAfter'] * 1000,
  })
  const codes = createEnrolmentCodes(store, clock)
  const signIns: SignIns = createSignIns({
    store,
    clock,
    secret: await openSecret(store, seal, 'refresh_secret'),
    revocations,
    lifetime: config['lifetime.refresh'],
    grace: config['refresh.grace'],
  })
  const developerTokens = createDeveloperTokens({
    store,
    clock,
    log,
    keys,
    issuer: ownIssuer,
    epoch: changes.epoch,
    revocations,
    maxTokens: config['limits.developerTokens'],
  })
  const deviceRequests = createDeviceRequests(store, clock, config['refresh.grace'], changes.epoch)
  const presence = await openPresence(store, storeClock, log)
  const limiterOf = (name: string, rate: Rate) => createSharedLimiter(store, storeClock, name, rate)
  const limits = createLimits({
    address: config['limits.address'],
    client: config['limits.client'],
    account: config['limits.account'],
    node: config['limits.node'],
    replicas: presence.count,
    enrolments: limiterOf('enrolment', {
      burst: config['limits.enrolment'],
      perSecond: config['limits.enrolment'] / 3600,
    }),
  })

  const sweep = createSweep(clock, log, [
    ...removeExpiredRows(store),
    ...audit.tasks,
    nodes.removeStrangers,
    ...revocationExpiry(store, revocations, folding),
  ])

  const trust = await openTrust({
    ownIssuer,
    keys,
    config,
    store,
    clock,
    log,
  })
  const ownVerifier = trust.verifierOf([], rememberedDevelopers)
  const dpop = shareDpopVerifier(
    createDpopVerifier(await openSecret(store, seal, 'dpop_nonce_secret'), clock),
    createUsedProofs(store),
  )

  const tenant = {
    clock,
    changes,
    epoch: changes.epoch,
    keys,
    issuer: ownIssuer,
    projects,
    nodes,
    developerTokens,
    revocations,
    signIns,
    deviceRequests,
    audit,
    limits,
    dpop,
    trustedProxies,
    accounts,
    consoleUrl,
    trust,
    verifier: trust.verifierOf([]),
  }
  const mint = createMint({ clock, keys, issuer: ownIssuer, lifetime: config['lifetime.access'] })
  const exchange = createExchange({
    ...tenant,
    mint,
    developerVerifier: ownVerifier,
    edgeVerifier: trust.verifierOf(config.trustedEdgeIssuers),
  })
  const tokenEndpoint = createTokenEndpoint({
    ...tenant,
    grants: createGrants(exchange, { ...tenant, mint }),
  })
  const ownNames = () => [
    ...[issuer, consoleUrl()].map((url) => new URL(url).hostname),
    ...config['listen.hosts'],
  ]
  const app = createHttpApp(log, maxBody, {
    hotPath: roles.tenant ? tokenEndpoint : undefined,
    vital,
    acceptsHost: (host) => isOwnHost(host, ownNames()),
  })
  // Before every route but the token endpoint, which counts for itself, and the sign of life.
  app.addHook('onRequest', async ({ raw, url }) => {
    if (url === identityPaths.health) return
    limits.takeAddress(addressOf(raw, trustedProxies))
    await changes.ensureFresh()
  })
  addMetadataEndpoints(app, { issuer: ownIssuer, keys, roles })
  addRevocationsEndpoint(app, revocationList)
  addHealth(app, identityPaths.health, async () => {
    changes.checkFresh()
    await store.run({ ...sql`SELECT 1`, timeoutMs: healthTimeout })
  })

  const places = createPlaces({ url: config['discovery.url'], clock, log, keys, issuer: ownIssuer })
  const ending: (() => void)[] = [() => places.stop()]
  if (roles.tenant) {
    addFormRoutes(app, (routes) => {
      addDeviceAuthorizationEndpoint(routes, tenant)
      addRevokeEndpoint(routes, tenant)
      addIntrospectEndpoint(routes, tenant)
    })
    addUserInfoEndpoint(app, tenant)
    const pages = fileURLToPath(new URL('./console', import.meta.url))
    const lifetimes = { access: config['lifetime.access'], developer: config['lifetime.developer'] }
    const ownConsole = addConsole(app, {
      ...tenant,
      store,
      log,
      people,
      oneTime,
      links,
      places,
      lifetimes,
      limiterOf,
      pages,
    })
    ending.push(() => ownConsole.stop())
  }
  if (roles.cloud) {
    const audiences = () => (config.edgeAudiences.length === 0 ? [issuer] : config.edgeAudiences)
    const cloud = { ...tenant, audiences }
    addEdgeTokenEndpoint(app, {
      ...cloud,
      codes,
      people,
      lifetime: config['lifetime.edge'],
      maxNodes: config['limits.nodes'],
      enrolment: config.enrolment,
      tenantVerifier: trust.verifierOf(config.trustedTenants),
    })
    addVerifyHmacEndpoint(app, { ...cloud, ownVerifier })
  }
  app.addHook('preClose', (done) => {
    for (const end of ending) end()
    done()
  })

  /** Where people find the console: passkeys need a name, which an address of the loopback is not. */
  function consoleUrl(): string {
    return (
      config['console.url'] || issuer.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=:|$)/, 'http://localhost')
    )
  }

  await listenApp(app, config['listen.address'], config['listen.port'], (url) => {
    issuer ||= url
  })
  const admin = await openAdmin(
    join(config.state, 'admin.sock'),
    createAdminHandlers({
      ...tenant,
      codes,
      people,
      links,
      developerLifetime: config['lifetime.developer'],
    }),
    log,
  )
  const schedule = [setInterval(safely('keys.rotate', keys.rotateIfDue), keysInterval)]
  sweep.start()
  trust.start()
  log.debug('ready', { issuer, role: config.role })

  return {
    ready: { url: issuer, ...(roles.tenant && (await setupLink())) },
    async stop() {
      for (const each of schedule) clearInterval(each)
      await app.close()
      await admin.close()
      await sweep.stop()
      await trust.stop()
      await presence.stop()
      await changes.stop()
      await clock.stop()
      storeClock.stop()
      await store.close()
      log.debug('stopped')
    },
  }

  /** No person can sign in yet: the log of the start shows the link that creates the first owner. */
  async function setupLink(): Promise<{ setup?: string }> {
    const secret = await links.createSetup(setupLife)
    // After the #: it is never sent, so it is in no log and no Referer.
    return secret === undefined ? {} : { setup: `${consoleUrl()}/setup#${secret}` }
  }
}
