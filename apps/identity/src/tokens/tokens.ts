/**
 * Which tokens are trusted and issued: the issuers that this service trusts, the checks of a request for a token, the grants, and the
 * rate limits of their callers.
 *
 * It depends on the storage and the registry. It must not know paths, headers or pages: the API passes in what a request contains.
 */
import type { Rate } from '@selvedge/service-kit/http'
import type { Network } from '@selvedge/service-kit/network'
import {
  createDpopVerifier,
  type SharedDpopVerifier,
  shareDpopVerifier,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'
import type { IdentityConfig } from '../config.ts'
import { createDeviceAudit } from '../registry/nodes/device-audit.ts'
import { createLeaseAudit } from '../registry/nodes/lease-audit.ts'
import type { Registry } from '../registry/registry.ts'
import type { Storage } from '../storage/storage.ts'
import { type Authorizations, createAuthorizations } from './authorize/authorizations.ts'
import { createTickets } from './authorize/tickets.ts'
import { type CompanyTokens, createCompanyTokens } from './company/company.ts'
import { createEnrolment, type Enrolment } from './enrolment/enrolment.ts'
import { createJoins } from './enrolment/join.ts'
import { audiencesOf, createEdgeMint, type EdgeMint } from './enrolment/mint-edge.ts'
import { createFederation, type Federation } from './federation/federation.ts'
import { createIssuerKeys, type IssuerKeys } from './federation/issuer-keys.ts'
import { createRulesVerifier } from './federation/verify-by-rules.ts'
import { createAppIdTokens } from './grants/app-id-token.ts'
import { createExchange } from './grants/exchange.ts'
import type { Grant } from './grants/grant.ts'
import { createGrants } from './grants/index.ts'
import { createIssueLease } from './grants/lease.ts'
import { createLimits, type Limits } from './grants/limits.ts'
import { createMint } from './grants/mint.ts'
import { createReadUser } from './grants/read-user.ts'
import { openTrust, type Trust } from './trust/trust.ts'

export interface Tokens {
  readonly trust: Trust
  readonly limits: Limits
  /** Verifies proofs; each is accepted once, by all replicas together. */
  readonly dpop: SharedDpopVerifier
  readonly grants: readonly Grant[]
  /** ID tokens of issuers that projects trust. */
  readonly federation: Federation
  readonly issuerKeys: IssuerKeys
  /** Sign-in with the providers of companies. */
  readonly companySignIns: CompanyTokens
  readonly enrolment: Enrolment
  /** Apps that people sign in to. */
  readonly authorizations: Authorizations
  readonly edgeMint: EdgeMint
  /** Issuers of the tenants that edge ID tokens are for. */
  readonly audiences: () => readonly string[]
  /** Trusts this service only. */
  readonly verifier: TokenVerifier
  /** The same with a cache, for tokens that come often. */
  readonly cachedVerifier: TokenVerifier
  /** Begins to fetch the lists of revoked tokens of other issuers. */
  start(): void
  close(): Promise<void>
}

/** Maximum verified developer ID tokens in the cache: one serves a fleet. An edge ID token is used once or twice. */
const maxCachedTokens = 1000

export async function openTokens(
  config: IdentityConfig,
  storage: Storage,
  registry: Registry,
  network: Network,
): Promise<Tokens> {
  const { clock, changes } = storage
  const { issuer } = registry.urls
  const trust = await openTrust({ ...storage, keys: registry.keys, ownIssuer: issuer, config, network })
  const cachedVerifier = trust.verifierOf([], maxCachedTokens)
  const audiences = () => audiencesOf(config.edgeAudiences, issuer())
  const limits = createOwnLimits(config, storage)
  const issuerKeys = createIssuerKeys({ ...storage, ...registry, network })
  const verify = createRulesVerifier(issuerKeys)
  const federation = createFederation({ ...registry, verify })
  const parts = { ...storage, ...registry, network, limits, trust, federation, issuer, epoch: changes.epoch }
  const mint = createMint({ ...parts, lifetimeSeconds: config['lifetime.access'] })
  const verifier = trust.verifierOf([])
  const edgeVerifier = trust.verifierOf(config.trustedEdgeIssuers)
  const issueLease = createIssueLease(parts)
  const exchange = createExchange({
    ...parts,
    mint,
    issueLease,
    developerVerifier: cachedVerifier,
    edgeVerifier,
  })
  const tickets = createTickets(await storage.openSecret('authorization_secret'), clock)
  return {
    trust,
    federation,
    issuerKeys,
    companySignIns: createCompanyTokens({
      ...parts,
      verify,
      secret: await storage.openSecret('company_secret'),
      consoleUrl: registry.urls.console,
    }),
    limits,
    dpop: shareDpopVerifier(
      createDpopVerifier(await storage.openSecret('dpop_nonce_secret'), clock),
      storage.useProof,
    ),
    grants: createGrants(exchange, {
      ...{ ...parts, mint, issueLease },
      ...{ issueAppId: createAppIdTokens(parts), readUser: createReadUser(parts) },
    }),
    authorizations: createAuthorizations({ ...parts, verifier, edgeVerifier, tickets }),
    enrolment: createEnrolment({
      ...parts,
      tenantVerifier: trust.verifierOf(config.trustedTenants),
      enrolment: config.enrolment,
      deviceAudit: createDeviceAudit(storage.audit, registry.people),
      leaseAudit: createLeaseAudit(storage.store, storage.audit),
      joins: createJoins(parts),
    }),
    edgeMint: createEdgeMint({ ...parts, audiences, lifetimeSeconds: config['lifetime.edge'] }),
    audiences,
    verifier,
    cachedVerifier,
    start: trust.start,
    close: async () => void (await Promise.all([trust.stop(), issuerKeys.stop()])),
  }
}

const createOwnLimits = (config: IdentityConfig, { replicas, limiterOf }: Storage): Limits =>
  createLimits({
    address: config['limits.address'],
    client: config['limits.client'],
    account: config['limits.account'],
    node: config['limits.node'],
    replicas,
    enrolments: limiterOf('enrolment', perHour(config['limits.enrolment'])),
    joins: limiterOf('join', perHour(config['limits.join'])),
  })

const perHour = (count: number): Rate => ({ burst: count, perSecond: count / 3600 })
