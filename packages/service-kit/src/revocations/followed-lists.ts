/**
 * The lists of revoked tokens of the issuers that a service trusts: fetched, stored in its database, and refused as a basis for
 * decisions when they are too old.
 */
import { OAuthError } from '@selvedge/protocol'
import type { BaseClaims } from '@selvedge/protocol/tokens'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../log/index.ts'
import type { SqlStore } from '../store/index.ts'
import type { RevocableClaims, TokenVerifier } from '../tokens/index.ts'
import { createRevocationFeed, type FeedTrouble, type ListSource } from './feed.ts'
import { openListStorage } from './list-storage.ts'

/** As much of a token as decides whether it was revoked. */
export type Revocable = RevocableClaims & Pick<BaseClaims, 'iss'>

export interface FollowedLists {
  /**
   * Why a genuine token is not valid any more; undefined if it is.
   *
   * @throws OAuthError `temporarily_unavailable` while the list of its issuer is too old to tell
   */
  reasonAgainst(claims: Revocable): Promise<string | undefined>
  /** The same by what is known, however old it is: for what a verified token began. */
  revokedReason(claims: Revocable): string | undefined
  /** Seconds since the list of each issuer was confirmed, of the one that waits longest; undefined if one never was. */
  oldestAgeSeconds(): number | undefined
  /** @param listener called after each change of a list */
  onRevocation(listener: () => void): void
  start(): void
  stop(): Promise<void>
}

export interface FollowedListsParts {
  /** Called before each fetch. */
  readonly sources: () => readonly ListSource[]
  /** Trusts the keys of these issuers. */
  readonly verifier: TokenVerifier
  /** It has the table `revocation_lists (issuer, list)`. */
  readonly database: SqlStore
  readonly clock: Clock
  readonly log: Log
  /** Seconds between two fetches. */
  readonly intervalSeconds: number
  /** Seconds for which the list of an issuer decides after it was confirmed. */
  readonly maxAgeSeconds: number
}

/** Milliseconds for which a request waits for a list. */
const requestTimeoutMs = 2000

export async function openFollowedLists(parts: FollowedListsParts): Promise<FollowedLists> {
  const { sources, verifier, clock, log, intervalSeconds } = parts
  const listeners: (() => void)[] = []
  const feed = createRevocationFeed({
    sources,
    storage: await openListStorage(parts.database),
    verifier,
    clock,
    isTimeTrusted: () => true,
    intervalSeconds,
    firstFetchMs: 0,
    onTrouble: logTrouble(log),
    onAccepted() {
      for (const each of listeners) each()
    },
  })
  const ageMs = (issuer: string) => performance.now() - feed.confirmedAt(issuer)
  const isFresh = (issuer: string) => ageMs(issuer) <= parts.maxAgeSeconds * 1000

  async function expectFresh(issuer: string): Promise<void> {
    if (isFresh(issuer)) return
    // A request waits for a moment only; the fetch that it started continues.
    const late = new Promise<void>((resolve) => setTimeout(resolve, requestTimeoutMs).unref())
    await Promise.race([feed.fetchNow(), late])
    if (isFresh(issuer)) return
    throw new OAuthError(
      'temporarily_unavailable',
      `the list of revoked tokens of ${issuer} could not be fetched for ${parts.maxAgeSeconds} s, so this service cannot tell whether the token is revoked`,
      { status: 503, retryAfter: 5 },
    )
  }

  return {
    async reasonAgainst(claims) {
      // What was revoked stays so, however old the list is.
      const known = feed.reasonFor(claims)
      if (known !== undefined) return known
      await expectFresh(claims.iss)
      return feed.reasonFor(claims)
    },
    revokedReason: (claims) => feed.reasonFor(claims),
    oldestAgeSeconds() {
      const oldest = Math.max(0, ...sources().map(({ issuer }) => ageMs(issuer))) / 1000
      return Number.isFinite(oldest) ? oldest : undefined
    },
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
