/**
 * How replicas learn of each other's changes. Each change that another replica may have in memory is written under the next
 * number, in the transaction that makes it. Each replica reads the numbers in order: at once when it is notified, otherwise every
 * second. A process that can't read them decides nothing: what it has in memory may have been revoked.
 */
import type { Clock, SteadyClock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createFollowers, type Followers } from './followers.ts'
import { createFreshness, type Freshness, refuseIfOutdated } from './freshness.ts'
import { raised } from './raise-counters.ts'
import {
  createTrustCache,
  type Follow,
  openTrustCopy,
  type Topic,
  type TrustCache,
  type TrustCacheOptions,
  type TrustCopy,
  type TrustCopyOptions,
} from './trust-cache.ts'

export type { Topic }

export interface Changes {
  /** Memory of entries that were used of late, for decisions about trust. */
  cache<V>(options: TrustCacheOptions<V>): TrustCache<V>
  /** A copy of a whole table, for decisions about trust. @throws whatever its first read throws */
  copy<V>(options: TrustCopyOptions<V>): Promise<TrustCopy<V>>
  /** Calls a listener with each subject that changed, at this or another replica; with "" if changes were missed. */
  onChange(topic: Topic, listener: (subject: string) => void): void
  /**
   * Runs statements in one transaction together with the note of what they change. All processes learn of it.
   * Inside the transaction the counter `changes` has the number of this change already.
   */
  commit(statements: readonly Statement[], noted: readonly (readonly [Topic, string])[]): Promise<Row[][]>
  /**
   * Number of the newest change that this process knows wholly. Take it before the checks that a token rests on, and sign the
   * token with it: a change that comes in between then has a larger number.
   */
  epoch(): number
  /** Reads what is new if that was not done within the maximum age. @throws OAuthError `temporarily_unavailable` */
  ensureFresh(): Promise<void>
  /** @throws OAuthError `temporarily_unavailable` while any follower may be outdated */
  checkFresh(): void
  /** Seconds since the changes of other replicas were read; undefined if the store has one process. */
  ageSeconds(): number | undefined
  stop(): Promise<void>
}

/** Milliseconds: between two polls, for one of them, and for which a change stays written: far longer than any replica sleeps. */
const times = { pollMs: 1000, answerMs: 2000, retentionMs: 3_600_000 }

export interface ChangesOptions {
  readonly store: SqlStore
  readonly clock: SteadyClock
  /** The clock of the machine: it advances while the machine sleeps. */
  readonly system: Clock
  readonly log: Log
  /** Milliseconds since the last successful poll after which this process decides nothing; of a shared store only. */
  readonly maxAgeMs: number
  /** Milliseconds that only grow. */
  readonly monotonic?: () => number
}

export async function openChanges(options: ChangesOptions): Promise<Changes> {
  const { store, clock, system, log, maxAgeMs, monotonic = () => performance.now() } = options
  const followers = createFollowers(log)
  const freshness = createFreshness({ isShared: store.isShared, system, monotonic, maxAgeMs })
  const reader = createReader({ store, log, followers, freshness, seen: await readCounter(store) })
  const isDue = () => store.isShared || freshness.isOutdated() || followers.hasStale()
  store.onWake(safely('changes.wake', reader.read))
  const timer = setInterval(
    safely('changes.poll', () => (isDue() ? reader.read() : undefined)),
    times.pollMs,
  )
  timer.unref()

  const follow: Follow = (topic, follower) => {
    const own = followers.follow(topic, follower)
    return () => refuseIfOutdated(own.isStale || freshness.isOutdated())
  }

  return {
    cache: (own) => createTrustCache(follow, own),
    copy: (own) => openTrustCopy(follow, own),
    onChange(topic, listener) {
      follow(topic, { changed: listener, reload: () => listener('') })
    },
    epoch: reader.epoch,
    checkFresh: () => refuseIfOutdated(freshness.isOutdated() || followers.hasStale()),
    async ensureFresh() {
      if (freshness.isOutdated() && !freshness.failedWithin(times.pollMs))
        await within(reader.read(), times.answerMs)
      refuseIfOutdated(freshness.isOutdated())
    },
    async commit(statements, noted) {
      const now = clock.steady()
      const notes = notesOf(noted, now)
      try {
        const rows = await store.transaction([...notes, ...statements, removeOld(now)])
        return rows.slice(notes.length, -1)
      } finally {
        // Also after a failure: the transaction may be committed although its response was lost.
        if (!(await reader.read())) freshness.setBehind()
        await store.wakeOthers()
      }
    },
    ageSeconds() {
      const ms = freshness.ageMs()
      return ms === undefined ? undefined : ms / 1000
    },
    async stop() {
      clearInterval(timer)
      await reader.present()
    },
  }
}

interface Reader {
  /** Reads new changes, after this call. Resolves with whether that succeeded; never rejects. */
  read(): Promise<boolean>
  /** The reading that is under way. */
  present(): Promise<unknown> | undefined
  epoch(): number
}

interface ReaderParts {
  readonly store: SqlStore
  readonly log: Log
  readonly followers: Followers
  readonly freshness: Freshness
  /** Number of the newest change at the start. */
  readonly seen: number
}

/** Reads the changes in the order of their numbers and notifies the followers. */
function createReader({ store, log, followers, freshness, ...start }: ReaderParts): Reader {
  let { seen } = start
  let isWanted = false

  async function poll(): Promise<void> {
    const begun = freshness.instant()
    const { newest, news } = await readNews(store, seen)
    if (!news) followers.distrust()
    await followers.reloadStale()
    for (const { topic, subject } of news ?? []) await followers.notify(topic, subject)
    if (!news) log.warn('changes of other replicas were missed; everything was read again', { seen, newest })
    seen = newest
    freshness.read(begun)
  }

  async function pollWhileWanted(): Promise<boolean> {
    try {
      do {
        isWanted = false
        await poll()
      } while (isWanted)
      return true
    } catch (cause) {
      freshness.failed()
      log.warn('the changes of other replicas could not be read', { cause })
      return false
    }
  }

  const run = shareRun(pollWhileWanted)
  return {
    read() {
      // One poll at a time; a call while one runs leads to another poll after it.
      isWanted = true
      return run()
    },
    present: run.present,
    epoch: () => seen,
  }
}

async function readCounter(store: SqlStore): Promise<number> {
  const rows = await store.run<{ value: number }>(sql`SELECT value FROM counters WHERE name = 'changes'`)
  return rows[0]!.value
}

interface Note {
  readonly topic: Topic
  readonly subject: string
}

/**
 * One statement reads the counter and the changes as of one moment. Numbers have no gaps, unless a start raised them or changes were removed.
 *
 * @returns `news`: undefined if changes were missed
 */
async function readNews(
  store: SqlStore,
  seen: number,
): Promise<{ readonly newest: number; readonly news: readonly Note[] | undefined }> {
  const rows = await store.run({
    ...sql`SELECT counters.value, changes.seq, changes.topic, changes.subject FROM counters
      LEFT JOIN changes ON changes.seq > ${seen} WHERE counters.name = 'changes' ORDER BY changes.seq`,
    timeoutMs: times.answerMs,
  })
  const newest = rows[0]!.value as number
  const news = rows.filter(({ seq }) => seq !== null)
  if (!isComplete(news, seen, newest)) return { newest, news: undefined }
  return { newest, news: news.filter(({ topic }) => topic !== raised) as unknown as Note[] }
}

/** Whether the changes lead from one number to another without a gap, in steps of one or by a raise that a start made. */
function isComplete(news: readonly Row[], seen: number, newest: number): boolean {
  let known = seen
  for (const { seq, topic, subject } of news) {
    const isNext = topic === raised ? subject === String(known) : seq === known + 1
    if (!isNext) return false
    known = seq as number
  }
  return known === newest
}

/** The row of the counter is locked until the end of the transaction: numbers become visible in their order. */
const notesOf = (noted: readonly (readonly [Topic, string])[], now: number): Statement[] =>
  noted.flatMap(([topic, subject]) => [
    sql`UPDATE counters SET value = value + 1 WHERE name = 'changes'`,
    sql`INSERT INTO changes SELECT value, CAST(${topic} AS TEXT), CAST(${subject} AS TEXT), CAST(${now} AS BIGINT)
      FROM counters WHERE name = 'changes'`,
  ])

const removeOld = (now: number): Statement => sql`DELETE FROM changes WHERE at < ${now - times.retentionMs}`

/** Waits for work, but no longer than a time. @param ms milliseconds */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}
