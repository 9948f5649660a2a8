/**
 * Follows the signed lists of revoked tokens of some issuers. A list is fetched again after an interval, decides at once, and is
 * stored, so that a revoked token is refused without a network and after a restart as well.
 */
import {
  type BaseClaims,
  type RevocationsClaims,
  revocationsAudience,
  revocationsProfile,
} from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '../clock/index.ts'
import { safely } from '../safely/safely.ts'
import { shareRun } from '../share/share.ts'
import { findRevocation, type RevocableClaims, revocationEntry } from '../tokens/revocation.ts'
import type { TokenVerifier } from '../tokens/verifier.ts'
import { type Applied, applyList, type LiveList, type StoredLists, toLive } from './lists.ts'

/** One issuer, and how its list is fetched. */
export interface ListSource {
  readonly issuer: string
  /**
   * @param held the list that is held: its `seq` and `mark`, to get what changed since; or an ETag, to get the whole list
   *   unless it is that one
   * @throws an error of `@selvedge/client`, or any other if the answer is no list
   */
  fetchList(
    held?: string | { readonly seq: number; readonly mark: string },
  ): Promise<{ readonly token: string; readonly etag: string } | 'unchanged'>
}

/** Where lists are stored. */
export interface ListStorage {
  readonly value: StoredLists
  update(change: (value: StoredLists) => StoredLists): Promise<unknown>
}

/** What may be wrong with a list, each until it is so no more. `restarted`: it went back, as after a restored backup. */
export type FeedTrouble = 'refused' | 'restarted' | 'wrong_time' | 'not_stored'

export interface FeedParts {
  /** Called before each fetch. */
  readonly sources: () => readonly ListSource[]
  readonly storage: ListStorage
  /** Trusts the keys of these issuers. */
  readonly verifier: TokenVerifier
  readonly clock: Clock
  /** Whether this machine knows the time. */
  readonly isTimeTrusted: () => boolean
  /** Seconds between two fetches. */
  readonly interval: number
  /** Milliseconds until the first one. */
  readonly firstFetch: number
  /** Called after each attempt with what is wrong, and with what no longer is. */
  readonly onTrouble: (trouble: FeedTrouble, issuer: string, isSo: boolean, details: object) => void
  /** Called after a list of an issuer was accepted. */
  readonly onAccepted: (before: LiveList | undefined, now: LiveList) => void
  /** Called after all issuers were asked. @param signedAt when each list that is held was signed, in Unix seconds */
  readonly onFetched?: (isConfirmed: boolean, signedAt: readonly number[]) => void
}

export interface RevocationFeed {
  /** Why a token is revoked, in words; undefined if it is not. */
  reasonFor(claims: RevocableClaims & Pick<BaseClaims, 'iss'>): string | undefined
  /** When each list that is held was signed, in Unix seconds. */
  signedAt(): number[]
  /** Milliseconds since an issuer last confirmed its list; Infinity: not since the start. */
  ageOf(issuer: string): number
  /** Fetches all lists now, unless that is under way. Gives whether all of them were confirmed. */
  fetchNow(): Promise<boolean>
  start(): void
  /** Stops fetching; resolves when nothing is under way. */
  stop(): Promise<void>
}

/** How often in a row an issuer that answers may fail to give its list before that counts as trouble. */
const maxFailures = 3

export function createRevocationFeed(parts: FeedParts): RevocationFeed {
  const { sources, storage, verifier, clock, onTrouble } = parts
  const live = new Map<string, LiveList>()
  for (const [issuer, list] of Object.entries(storage.value.lists)) live.set(issuer, toLive(list))
  /** Entries of the tokens that are in use: hashing them for each call would cost more than the call. */
  const entries = new WeakMap<object, Map<string, string>>()
  const failures = new Map<string, number>()
  const confirmedAt = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function fetchOne({ issuer, fetchList }: ListSource): Promise<boolean> {
    // The request depends on what is stored: a list that could not be stored is fetched again.
    const held = storage.value.lists[issuer]
    try {
      const answer = await fetchList(held?.mark ? held : held?.etag)
      failures.delete(issuer)
      if (answer !== 'unchanged') {
        const claims = await read(issuer, answer.token)
        const at = { now: seconds(clock), isTrusted: parts.isTimeTrusted() }
        const applied = applyList(held, claims, answer.etag, at)
        if (applied.outcome === 'refused') return refuse(issuer, { seq: claims.seq, why: applied.why })
        await accept(issuer, applied)
      }
      onTrouble('refused', issuer, false, {})
      const { restartedUntil = 0, seq } = live.get(issuer)?.list ?? {}
      onTrouble('restarted', issuer, restartedUntil > seconds(clock), { seq })
      confirmedAt.set(issuer, performance.now())
      return true
    } catch (cause) {
      return isAway(issuer, cause) ? false : refuse(issuer, { cause })
    }
  }

  /** All issuers share the verifier: the list of one may not stand in for that of another. */
  async function read(issuer: string, token: string): Promise<RevocationsClaims> {
    const claims = await verifier.verify(token, revocationsProfile, revocationsAudience)
    if (claims.iss !== issuer) throw new Error(`the list is of ${claims.iss}`)
    return claims
  }

  /** Whether an issuer is only away, which is no failure of the list. */
  function isAway(issuer: string, cause: unknown): boolean {
    const { kind, reason } = Object(cause) as { kind?: unknown; reason?: unknown }
    if (typeof kind !== 'string') return false
    if (reason === 'not_running') return true
    // Another refusal, or an answer that never ends, may pass; what cannot be read at all will not.
    const count = (failures.get(issuer) ?? 0) + 1
    failures.set(issuer, count)
    return reason !== 'bad_answer' && count < maxFailures
  }

  function refuse(issuer: string, details: object): false {
    onTrouble('refused', issuer, true, details)
    return false
  }

  /** It decides from now on, also if it cannot be stored: then it is fetched again until it can. */
  async function accept(
    issuer: string,
    { list, hasWrongTime }: Extract<Applied, { outcome: 'accepted' }>,
  ): Promise<void> {
    const before = live.get(issuer)
    const now = toLive(list)
    live.set(issuer, now)
    const details = { seq: list.seq, issuedAt: isoTime(list.iat * 1000) }
    onTrouble('wrong_time', issuer, hasWrongTime, details)
    try {
      await storage.update((value) => ({ lists: { ...value.lists, [issuer]: list } }))
      onTrouble('not_stored', issuer, false, {})
    } catch (cause) {
      onTrouble('not_stored', issuer, true, { ...details, cause })
    }
    parts.onAccepted(before, now)
  }

  const signedAt = () => [...live.values()].map(({ list }) => list.iat)

  const fetchAll = shareRun(async (): Promise<boolean> => {
    const results = await Promise.all(sources().map(fetchOne))
    const isConfirmed = results.every(Boolean)
    parts.onFetched?.(isConfirmed, signedAt())
    return isConfirmed
  })
  const fetchAndRepeat = safely('revocations.fetch', async () => {
    await fetchAll().finally(() => {
      if (!stopped) timer = setTimeout(fetchAndRepeat, parts.interval * 1000 * (0.9 + Math.random() / 10))
    })
  })

  return {
    reasonFor(claims) {
      const own = live.get(claims.iss)
      if (!own || own.revoked.size + own.endings.size === 0) return undefined
      let known = entries.get(claims)
      if (!known) entries.set(claims, (known = new Map()))
      const entryOf = (kind: Parameters<typeof revocationEntry>[0], subject: string) => {
        const key = `${kind}:${subject}`
        let entry = known.get(key)
        if (entry === undefined) known.set(key, (entry = revocationEntry(kind, subject)))
        return entry
      }
      return findRevocation(claims, (kind, subject) => {
        const entry = entryOf(kind, subject)
        if (kind === 'id') return own.revoked.has(entry) ? { notBefore: 0 } : undefined
        return own.endings.get(entry)
      })
    },
    signedAt,
    ageOf: (issuer) => performance.now() - (confirmedAt.get(issuer) ?? Number.NEGATIVE_INFINITY),
    fetchNow: fetchAll,
    start() {
      timer = setTimeout(fetchAndRepeat, parts.firstFetch)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await fetchAll.present()?.catch(() => undefined)
    },
  }
}
