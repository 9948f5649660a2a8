/**
 * Which tenant each account belongs to. An account belongs to the tenant that issues its access tokens. Two tenants may use the
 * same ID for
 * different accounts, and a hostile one may use the ID of another's on purpose, so an account is known here by its tenant and
 * its ID. An issuer of edge ID tokens speaks for the accounts of one tenant, which the configuration names.
 */
import { createHash } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { ConfigError } from '@selvedge/service-kit/config'

export interface Realms {
  readonly tenants: readonly string[]
  readonly edgeIssuers: readonly string[]
  /**
   * The key of an account, as an issuer of one kind names it.
   *
   * @throws OAuthError `invalid_token` if the ID is of a form that no account has
   */
  ofTenant(issuer: string, accountId: string): string
  ofEdgeIssuer(issuer: string, accountId: string): string
}

/** Between the ID of an account and the digest of its tenant, where that is not the first tenant. */
const separator = '@'
const accountIdPattern = /^[\w.-]{1,128}$/

/** The ID of an account as its tenant names it. */
export const accountIdOf = (key: string): string => key.split(separator, 1)[0]!

export interface RealmsConfig {
  readonly 'identity.url': string
  /** Each an issuer, or `<issuer>=<tenant>`. */
  readonly trustedEdgeIssuers: readonly string[]
  readonly trustedTenants: readonly string[]
}

/** @throws ConfigError if it does not follow for which tenant an issuer of edge ID tokens speaks */
export function createRealms(config: RealmsConfig): Realms {
  const own = config['identity.url']
  const tenants = config.trustedTenants.length === 0 ? [own] : config.trustedTenants
  const first = tenants.includes(own) ? own : tenants[0]!
  const edges = new Map<string, string>()
  for (const entry of config.trustedEdgeIssuers.length === 0 ? [own] : config.trustedEdgeIssuers) {
    const [issuer = '', named] = entry.split('=', 2)
    edges.set(issuer, named ?? (tenants.includes(issuer) ? issuer : onlyOf(tenants, issuer)))
    if (!tenants.includes(edges.get(issuer)!))
      throw new ConfigError(
        `trustedEdgeIssuers: "${entry}" names a tenant that is not among trustedTenants (${tenants.join(', ')})`,
      )
  }
  const suffixes = new Map(
    tenants.map((tenant) => [tenant, tenant === first ? '' : separator + digest(tenant)]),
  )

  function keyOf(tenant: string | undefined, accountId: string): string {
    const suffix = suffixes.get(tenant ?? '')
    if (suffix === undefined || !accountIdPattern.test(accountId))
      throw new OAuthError('invalid_token', 'the token names an account in a form that no account has')
    return accountId + suffix
  }

  return {
    tenants,
    edgeIssuers: [...edges.keys()],
    ofTenant: keyOf,
    ofEdgeIssuer: (issuer, accountId) => keyOf(edges.get(issuer), accountId),
  }
}

function onlyOf(tenants: readonly string[], issuer: string): string {
  const [only, ...more] = tenants
  if (only !== undefined && more.length === 0) return only
  throw new ConfigError(
    `trustedEdgeIssuers: say for which tenant's accounts ${issuer} speaks: "${issuer}=<one of ${tenants.join(', ')}>"`,
  )
}

const digest = (url: string): string => createHash('sha256').update(url).digest('base64url').slice(0, 16)
