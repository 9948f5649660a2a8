/**
 * Follows the signed lists of revoked tokens of some issuers. A list is fetched again after an interval, decides at once, and is
 * stored, so that a revoked token is refused without a network and after a restart as well.
 */
import { type RevocationsClaims, revocationsAudience, revocationsProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '../clock/index.ts'
import { safely } from '../safely/safely.ts'
import { shareRun } from '../share/share.ts'
import { createLearnedStore } from '../store/learned-store.ts'
import type { TokenVerifier } from '../tokens/verifier.ts'
import { type Applied, applyList, type LiveList, type StoredList, type StoredLists } from './lists.ts'
import { createLiveLists, type LiveLists } from './live-lists.ts'

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

/** A problem with a list, until it is solved. `restarted`: the numbers went back, as after a restored backup. */
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
  readonly intervalSeconds: number
  /** Milliseconds until the first one. */
  readonly firstFetchMs: number
  /** When a list that could not be stored is stored again; for tests. */
  readonly retryTimes?: { readonly firstMs: number; readonly maxMs: number }
  /** Called after each attempt with what is wrong, and with what no longer is. */
  readonly onTrouble: (trouble: FeedTrouble, issuer: string, isSo: boolean, details: object) => void
  /** Called after a list of an issuer was accepted. */
  readonly onAccepted: (before: LiveList | undefined, now: LiveList) => void
  /** Called each time that the list of an issuer was found to be the newest. */
  readonly onConfirmed?: (issuer: string) => void
  /** Called after the lists of all issuers were requested. @param signedAt when each list that is held was signed, in Unix seconds */
  readonly onFetched?: (isConfirmed: boolean, signedAt: readonly number[]) => void
}

export interface RevocationFeed extends Pick<LiveLists, 'reasonFor' | 'signedAt' | 'get'> {
  /** When an issuer last confirmed its list, in milliseconds on the scale of `performance.now`; -Infinity: not since the start. */
  confirmedAt(issuer: string): number
  /** Fetches all lists now, unless that is under way. Gives whether all of them were confirmed. */
  fetchNow(): Promise<boolean>
  start(): void
  /** Stops fetching; resolves when nothing is under way. */
  stop(): Promise<void>
}

/** Failures in a row of an issuer that answers, after which they are reported. */
const maxFailures = 3

export function createRevocationFeed(parts: FeedParts): RevocationFeed {
  const { sources, storage, verifier, clock, onTrouble } = parts
  const live = createLiveLists(storage.value)
  const failures = createFailureCount()
  const confirmations = new Map<string, number>()
  const stored = createStoring(parts)

  async function fetchOne({ issuer, fetchList }: ListSource): Promise<boolean> {
    // The request depends on what is stored: a list that could not be stored is fetched again.
    const held = storage.value.lists[issuer]
    try {
      const answer = await fetchList(held?.mark ? held : held?.etag)
      failures.reset(issuer)
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
      confirmations.set(issuer, performance.now())
      parts.onConfirmed?.(issuer)
      return true
    } catch (cause) {
      return failures.isOnlyAway(issuer, cause) ? false : refuse(issuer, { cause })
    }
  }

  /** All issuers share the verifier: an issuer must not sign the list of another one. */
  async function read(issuer: string, token: string): Promise<RevocationsClaims> {
    const claims = await verifier.verify(token, revocationsProfile, revocationsAudience)
    if (claims.iss !== issuer) throw new Error(`the list is of ${claims.iss}`)
    return claims
  }

  function refuse(issuer: string, details: object): false {
    onTrouble('refused', issuer, true, details)
    return false
  }

  /** The list decides from now on. If it cannot be stored, that is tried again until it can, without a network as well. */
  async function accept(
    issuer: string,
    { list, hasWrongTime }: Extract<Applied, { outcome: 'accepted' }>,
  ): Promise<void> {
    const before = live.get(issuer)
    const now = live.replace(issuer, list)
    const details = { seq: list.seq, issuedAt: isoTime(list.iat * 1000) }
    onTrouble('wrong_time', issuer, hasWrongTime, details)
    await stored.save(issuer, list, details)
    parts.onAccepted(before, now)
  }

  const fetchAll = shareRun(async (): Promise<boolean> => {
    const results = await Promise.all(sources().map(fetchOne))
    const isConfirmed = results.every(Boolean)
    parts.onFetched?.(isConfirmed, live.signedAt())
    return isConfirmed
  })
  const schedule = createSchedule(fetchAll, parts.intervalSeconds)

  return {
    ...{ reasonFor: live.reasonFor, signedAt: live.signedAt, get: live.get },
    confirmedAt: (issuer) => confirmations.get(issuer) ?? Number.NEGATIVE_INFINITY,
    fetchNow: fetchAll,
    start: () => schedule.start(parts.firstFetchMs),
    async stop() {
      schedule.stop()
      await fetchAll.present()?.catch(() => undefined)
      await stored.stop()
    },
  }
}

/** Stores each list until it is on the disk, and reports a list that is not. */
function createStoring({ storage, onTrouble, retryTimes: times }: FeedParts) {
  /** Of the newest list of each issuer, for a notice. */
  const details = new Map<string, object>()
  const learned = createLearnedStore({
    where: 'revocations.store',
    onOutcome(issuer, cause) {
      const isFailed = cause !== undefined
      onTrouble('not_stored', issuer, isFailed, isFailed ? { ...details.get(issuer), cause } : {})
    },
    ...(times && { times }),
  })
  return {
    /** Never rejects. Resolves after the first attempt. */
    async save(issuer: string, list: StoredList, shown: object): Promise<void> {
      details.set(issuer, shown)
      const write = () => storage.update((value) => ({ lists: { ...value.lists, [issuer]: list } }))
      await learned.save(issuer, write).catch(() => undefined)
    },
    stop: learned.stop,
  }
}

/** Repeats a fetch until it is stopped. @param intervalSeconds the pause varies by a tenth, so that devices do not fetch all at once */
function createSchedule(fetchAll: () => Promise<unknown>, intervalSeconds: number) {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const pauseMs = () => intervalSeconds * 1000 * (0.9 + Math.random() / 10)
  const fetchAndRepeat = safely('revocations.fetch', async () => {
    await fetchAll().finally(() => {
      if (!isStopped) timer = setTimeout(fetchAndRepeat, pauseMs())
    })
  })
  return {
    start(afterMs: number): void {
      timer = setTimeout(fetchAndRepeat, afterMs)
    },
    stop(): void {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Distinguishes an issuer that is away for a while from one with a list that cannot be read. */
function createFailureCount() {
  const failures = new Map<string, number>()
  return {
    reset: (issuer: string): void => void failures.delete(issuer),
    /** Counts a failure. @returns whether the issuer is only away, which is no failure of the list */
    isOnlyAway(issuer: string, cause: unknown): boolean {
      const { kind, reason } = Object(cause) as { kind?: unknown; reason?: unknown }
      if (typeof kind !== 'string') return false
      if (reason === 'not_running') return true
      // Another refusal, or an answer that never ends, may pass. An answer that cannot be read at all does not.
      const count = (failures.get(issuer) ?? 0) + 1
      failures.set(issuer, count)
      return reason !== 'bad_answer' && count < maxFailures
    },
  }
}
