/**
 * Which issuers this service trusts: itself by its own keys and its own registry of revocations, another identity service by its
 * published keys and its signed list of revoked tokens.
 */

import { createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import type { Clock } from '@selvedge/service-kit/clock'
import { createGetJson } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { createOutboundFetch, type Network } from '@selvedge/service-kit/network'
import { type ListSource, openFollowedLists, type Revocable } from '@selvedge/service-kit/revocations'
import type { SqlStore } from '@selvedge/service-kit/store'
import {
  createRemoteIssuer,
  createTokenVerifier,
  type Issuer,
  logOutcome,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'

export interface Trust {
  /**
   * A verifier that trusts some issuers.
   *
   * @param issuers URLs; empty: this service itself
   * @param maxCached maximum verified tokens in its cache
   */
  verifierOf(issuers: readonly string[], maxCached?: number): TokenVerifier
  /**
   * Why the issuer of a genuine token revoked it; undefined if it did not, or if this service is the issuer: its own registry decides then.
   *
   * @throws OAuthError `temporarily_unavailable` while the list of another issuer is too old
   */
  foreignReasonAgainst(claims: Revocable): Promise<string | undefined>
  /** Begins to fetch the lists, if there are other issuers. */
  start(): void
  stop(): Promise<void>
}

export interface TrustParts {
  /** This service; known when it listens. */
  readonly ownIssuer: () => string
  readonly keys: { asIssuer(url: string): Issuer }
  readonly config: TrustConfig
  readonly store: SqlStore
  readonly clock: Clock
  readonly log: Log
  readonly network: Network
}

interface TrustConfig {
  readonly role: 'both' | 'cloud' | 'tenant'
  readonly trustedEdgeIssuers: readonly string[]
  readonly trustedTenants: readonly string[]
  readonly 'revocations.interval': number
  readonly 'revocations.maxAge': number
}

/** Milliseconds until a list, which may be large, must have arrived. */
const listTimeoutMs = 60_000

export async function openTrust(parts: TrustParts): Promise<Trust> {
  const { ownIssuer, keys, config, store, clock, log, network } = parts
  const getJson = createGetJson(createOutboundFetch(network))
  const fetch = createNodeFetch({ network })
  const trusted = [
    ...(config.role === 'cloud' ? [] : config.trustedEdgeIssuers),
    ...(config.role === 'tenant' ? [] : config.trustedTenants),
  ]
  const issuers = new Map<string, Issuer>()
  function issuerOf(url: string): Issuer {
    const known = issuers.get(url)
    if (known) return known
    const found =
      url === ownIssuer()
        ? keys.asIssuer(url)
        : createRemoteIssuer({ issuer: url, clock, getJson, onOutcome: logOutcome(url, log) })
    issuers.set(url, found)
    return found
  }
  const verifierOf: Trust['verifierOf'] = (list, maxCached = 0) =>
    createTokenVerifier({
      issuers: () => (list.length === 0 ? [issuerOf(ownIssuer())] : list.map(issuerOf)),
      clock,
      remembered: maxCached,
    })
  const sources = [...new Set(trusted)].map((issuer): ListSource => {
    const client = createIdentityClient({ url: issuer, timeoutMs: listTimeoutMs, fetch })
    return { issuer, fetchList: (held) => client.revocations(held) }
  })
  const foreign = () => sources.filter(({ issuer }) => issuer !== ownIssuer())
  const lists = await openFollowedLists({
    sources: foreign,
    verifier: verifierOf(trusted),
    database: store,
    clock,
    log,
    intervalSeconds: config['revocations.interval'],
    maxAgeSeconds: config['revocations.maxAge'],
  })
  return {
    verifierOf,
    foreignReasonAgainst: async (claims) =>
      claims.iss === ownIssuer() ? undefined : lists.reasonAgainst(claims),
    start() {
      if (foreign().length > 0) lists.start()
    },
    stop: lists.stop,
  }
}
