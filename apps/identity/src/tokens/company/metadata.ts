/** The metadata of the providers of companies (OpenID Connect Discovery 1.0 § 3), fetched as the keys of trusted issuers are. */
import { identityPaths } from '@selvedge/protocol'
import { describeValue } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { createGuardedGet } from '@selvedge/service-kit/http'
import type { Outbound } from '@selvedge/service-kit/network'
import { type Shared, shareRun } from '@selvedge/service-kit/share'
import { RecentMap } from '@selvedge/service-kit/tokens'
import type { Company } from '../../registry/people/companies.ts'

/** What is read of it; the rest is for the library. */
export interface ProviderMetadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly jwks_uri: string
  readonly [name: string]: unknown
}

type Named = Pick<Company, 'issuer' | 'allowsPrivate'>

/** @throws (the function) Error with the reason and the value */
export type ReadMetadata = (company: Named) => Promise<ProviderMetadata>

/** Providers in memory, and milliseconds: until metadata are fetched again, and for which they serve while the provider does not answer. */
const limits = { providers: 1000, freshMs: 600_000, validMs: 86_400_000 } as const

interface Held {
  readonly fetch: Shared<ProviderMetadata>
  found?: { readonly metadata: ProviderMetadata; readonly at: number }
}

export function createReadMetadata({
  clock,
  network: outbound,
  getterOf = (allowsPrivate) => createGuardedGet({ allowsPrivate, outbound }),
}: {
  readonly clock: Clock
  readonly network: Outbound
  /** For tests. */
  readonly getterOf?: (allowsPrivate: boolean) => (url: string) => Promise<unknown>
}): ReadMetadata {
  const held = new RecentMap<string, Held>(limits.providers)
  const getters = { public: getterOf(false), private: getterOf(true) }

  function open({ issuer, allowsPrivate }: Named): Held {
    const key = `${allowsPrivate} ${issuer}`
    const known = held.get(key)
    if (known) return known
    const getJson = allowsPrivate ? getters.private : getters.public
    const own: Held = {
      fetch: shareRun(async () => {
        const metadata = expectMetadata(
          await getJson(issuer.replace(/\/$/, '') + identityPaths.openidConfiguration),
          issuer,
          allowsPrivate,
        )
        own.found = { metadata, at: clock.now() }
        return metadata
      }),
    }
    held.set(key, own)
    return own
  }

  return async (company) => {
    const own = open(company)
    const ageMs = own.found ? Math.abs(clock.now() - own.found.at) : Number.POSITIVE_INFINITY
    if (own.found && ageMs < limits.freshMs) return own.found.metadata
    try {
      return await own.fetch()
    } catch (cause) {
      if (own.found && ageMs < limits.validMs) return own.found.metadata
      throw cause
    }
  }
}

/** @throws Error if it is not the metadata of this issuer, or sends a browser or a secret where it must not go */
function expectMetadata(json: unknown, issuer: string, allowsPrivate: boolean): ProviderMetadata {
  const metadata = Object(json) as ProviderMetadata
  if (metadata.issuer !== issuer)
    throw new Error(`the metadata are of the issuer ${describeValue(metadata.issuer)}, not of ${issuer}`)
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const problem = endpointProblem(metadata[name], allowsPrivate)
    if (problem !== undefined) throw new Error(`"${name}" of the metadata ${problem}`)
  }
  return metadata
}

function endpointProblem(value: unknown, allowsPrivate: boolean): string | undefined {
  if (typeof value !== 'string' || value.length > 2000 || !URL.canParse(value))
    return `is ${describeValue(value)}, not a URL`
  const { protocol, hostname, username, password, hash } = new URL(value)
  const isLocal = allowsPrivate && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLocal))
    return `is ${describeValue(value)}, which does not begin with https://`
  if (username !== '' || password !== '' || hash !== '')
    return `is ${describeValue(value)}, with a user name or a fragment`
  return undefined
}
