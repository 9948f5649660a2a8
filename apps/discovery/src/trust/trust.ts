/**
 * Which tokens this service trusts: those of the configured issuers, by their published keys and their lists of revoked tokens.
 * Every endpoint verifies through here.
 */

import { createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import type { Clock } from '@selvedge/service-kit/clock'
import { createGetJson } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { createOutboundFetch, type Network } from '@selvedge/service-kit/network'
import { type FollowedLists, type ListSource, openFollowedLists } from '@selvedge/service-kit/revocations'
import type { SqlStore } from '@selvedge/service-kit/store'
import {
  createRemoteIssuer,
  createTokenVerifier,
  logOutcome,
  type RemoteIssuer,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'
import { createRealms, type Realms, type RealmsConfig } from './realms.ts'

export interface Trust extends FollowedLists {
  readonly realms: Realms
  /** For edge ID tokens. */
  readonly edgeVerifier: TokenVerifier
  /** For access tokens. */
  readonly tenantVerifier: TokenVerifier
}

export interface TrustConfig extends RealmsConfig {
  readonly 'revocations.interval': number
  readonly 'revocations.maxAge': number
}

/** Maximum verified access tokens in the cache; an edge ID token is shown once a session. */
const remembered = 10_000
/** Milliseconds for a list, which may be large. */
const listTimeoutMs = 60_000

export async function openTrust(
  config: TrustConfig,
  database: SqlStore,
  { clock, log, network }: { readonly clock: Clock; readonly log: Log; readonly network: Network },
): Promise<Trust> {
  const realms = createRealms(config)
  const getJson = createGetJson(createOutboundFetch(network))
  const fetch = createNodeFetch({ network })
  const issuers = new Map<string, RemoteIssuer>()
  for (const issuer of [...realms.edgeIssuers, ...realms.tenants])
    issuers.set(
      issuer,
      createRemoteIssuer({
        issuer,
        clock,
        getJson,
        onOutcome: logOutcome(issuer, log),
      }),
    )
  const verifierOf = (trusted: readonly string[], most: number) => {
    const own = trusted.map((issuer) => issuers.get(issuer)!)
    return createTokenVerifier({ issuers: () => own, clock, remembered: most })
  }
  const sources = [...issuers.keys()].map((issuer): ListSource => {
    const client = createIdentityClient({ url: issuer, timeoutMs: listTimeoutMs, fetch })
    return { issuer, fetchList: (held) => client.revocations(held) }
  })
  const lists = await openFollowedLists({
    sources: () => sources,
    verifier: verifierOf([...issuers.keys()], 0),
    database,
    clock,
    log,
    intervalSeconds: config['revocations.interval'],
    maxAgeSeconds: config['revocations.maxAge'],
  })

  return {
    realms,
    edgeVerifier: verifierOf(realms.edgeIssuers, 0),
    tenantVerifier: verifierOf(realms.tenants, remembered),
    ...lists,
  }
}
