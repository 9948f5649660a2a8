/**
 * Which tokens this service trusts: those of the configured issuers, by their published keys and their lists of revoked tokens.
 * Every endpoint verifies through here.
 */
import { createIdentityClient } from '@selvedge/client'
import { OAuthError } from '@selvedge/protocol'
import type { BaseClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { getJson } from '@selvedge/service-kit/http'
import type { Log } from '@selvedge/service-kit/log'
import { createRevocationFeed, type FeedTrouble } from '@selvedge/service-kit/revocations'
import type { SqlStore } from '@selvedge/service-kit/store'
import {
  createRemoteIssuer,
  createTokenVerifier,
  logOutcome,
  type RemoteIssuer,
  type RevocableClaims,
  type TokenVerifier,
} from '@selvedge/service-kit/tokens'
import { openListStorage } from './list-storage.ts'
import { createRealms, type Realms, type RealmsConfig } from './realms.ts'

/** As much of a token as decides whether it was revoked. */
export type Revocable = RevocableClaims & Pick<BaseClaims, 'iss'>

export interface Trust {
  readonly realms: Realms
  /** For edge ID tokens. */
  readonly edgeVerifier: TokenVerifier
  /** For access tokens. */
  readonly tenantVerifier: TokenVerifier
  /**
   * Why a genuine token is not valid any more; undefined if it is.
   *
   * @throws OAuthError `temporarily_unavailable` while the list of its issuer is too old to say
   */
  reasonAgainst(claims: Revocable): Promise<string | undefined>
  /** The same by what is known, however old it is: for what a verified token began. */
  revokedReason(claims: Revocable): string | undefined
  /** @param listener called after each change of a list */
  onRevocation(listener: () => void): void
  start(): void
  stop(): Promise<void>
}

export interface TrustConfig extends RealmsConfig {
  readonly 'revocations.interval': number
  readonly 'revocations.maxAge': number
}

/** Most access tokens that are remembered as verified; an edge ID token is shown once a session. */
const remembered = 10_000
/** Milliseconds for a list, which may be large; and for which a request waits for it. */
const timeouts = { list: 60_000, request: 2000 }

export async function openTrust(
  config: TrustConfig,
  database: SqlStore,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Trust> {
  const realms = createRealms(config)
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
  const listeners: (() => void)[] = []
  const feed = createRevocationFeed({
    sources: [...issuers.keys()].map((issuer) => {
      const client = createIdentityClient({ url: issuer, timeoutMs: timeouts.list })
      return { issuer, fetchList: (held) => client.revocations(held) }
    }),
    storage: await openListStorage(database),
    verifier: verifierOf([...issuers.keys()], 0),
    clock,
    isTimeTrusted: () => true,
    interval: config['revocations.interval'],
    firstFetch: 0,
    onTrouble: logTrouble(log),
    onAccepted() {
      for (const each of listeners) each()
    },
  })
  const maxAge = config['revocations.maxAge'] * 1000

  async function expectFresh(issuer: string): Promise<void> {
    if (feed.ageOf(issuer) <= maxAge) return
    // A request waits for a moment only; what it began to fetch goes on.
    const late = new Promise<void>((resolve) => setTimeout(resolve, timeouts.request).unref())
    await Promise.race([feed.fetchNow(), late])
    if (feed.ageOf(issuer) <= maxAge) return
    throw new OAuthError(
      'temporarily_unavailable',
      `the list of revoked tokens of ${issuer} could not be fetched for ${config['revocations.maxAge']} s, so this service cannot tell whether the token is revoked`,
      { status: 503, retryAfter: 5 },
    )
  }

  return {
    realms,
    edgeVerifier: verifierOf(realms.edgeIssuers, 0),
    tenantVerifier: verifierOf(realms.tenants, remembered),
    async reasonAgainst(claims) {
      await expectFresh(claims.iss)
      return feed.reasonFor(claims)
    },
    revokedReason: (claims) => feed.reasonFor(claims),
    onRevocation: (listener) => void listeners.push(listener),
    start: feed.start,
    stop: feed.stop,
  }
}

/** Logs what is wrong with a list once, and when it is so no more. */
function logTrouble(log: Log) {
  const known = new Set<string>()
  return (trouble: FeedTrouble, issuer: string, isSo: boolean, details: object): void => {
    const key = `${trouble} ${issuer}`
    if (known.has(key) === isSo) return
    if (isSo) {
      known.add(key)
      log.warn('there is trouble with a list of revoked tokens', { trouble, issuer, ...details })
    } else {
      known.delete(key)
      log.info('the trouble with a list of revoked tokens is over', { trouble, issuer })
    }
  }
}
