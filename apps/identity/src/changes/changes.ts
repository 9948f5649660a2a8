/**
 * How replicas learn of each other's changes. Each change that another replica may have in memory is written under the next
 * number, in the transaction that makes it. Each replica reads the numbers in their order: at once when it is notified, else every
 * second. A process that cannot read them decides nothing: what it has in memory may have been revoked.
 */
import { OAuthError } from '@selvedge/protocol'
import type { Clock, SteadyClock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import {
  createTrustCache,
  type Follow,
  type Follower,
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
  stop(): Promise<void>
}

/** Milliseconds: between two polls, for one of them, and for which a change stays written: far longer than any replica sleeps. */
const times = { poll: 1000, answer: 2000, keep: 3_600_000 }

export interface ChangesOptions {
  readonly store: SqlStore
  readonly clock: SteadyClock
  /** The machine's own clock: it goes on while the machine sleeps. */
  readonly system: Clock
  readonly log: Log
  /** Milliseconds since the last successful poll after which this process decides nothing; of a shared store only. */
  readonly maxAgeMs: number
  /** Milliseconds that only grow. */
  readonly monotonic?: () => number
}

interface Followed {
  readonly topic: Topic
  readonly follower: Follower
  isStale: boolean
}

export async function openChanges(options: ChangesOptions): Promise<Changes> {
  const { store, clock, system, log, maxAgeMs, monotonic = () => performance.now() } = options
  const followed: Followed[] = []
  let { value: seen } = (await readCounter())!
  let epoch = seen
  /** When the last successful poll began. The system's clock is asked as well: the monotonic one stands still while a machine sleeps. */
  let polledAt = instant()
  let failedAt = Number.NEGATIVE_INFINITY
  let isBehind = false
  let isWanted = false

  function instant() {
    return { monotonic: monotonic(), system: system.now() }
  }

  async function readCounter() {
    const rows = await store.run<{ value: number }>(sql`SELECT value FROM counters WHERE name = 'changes'`)
    return rows[0]
  }

  const isOld = () =>
    store.isShared && Math.max(monotonic() - polledAt.monotonic, system.now() - polledAt.system) > maxAgeMs

  function refuseIf(isOutdated: boolean): void {
    if (!isOutdated) return
    const message = 'this server cannot see what was revoked or changed; try again, or ask another server'
    throw new OAuthError('temporarily_unavailable', message, { retryAfter: 1, status: 503 })
  }

  /** One statement sees the counter and the changes as of one moment. Numbers have no gaps, unless changes were removed. */
  async function poll(): Promise<void> {
    const begun = instant()
    const rows = await store.run({
      ...sql`SELECT counters.value, changes.seq, changes.topic, changes.subject FROM counters
        LEFT JOIN changes ON changes.seq > ${seen} WHERE counters.name = 'changes' ORDER BY changes.seq`,
      timeoutMs: times.answer,
    })
    const newest = rows[0]!.value as number
    const news = rows.filter(({ seq }) => seq !== null)
    const isComplete = newest >= seen && news.length === newest - seen
    for (const each of followed) {
      if (!isComplete) each.isStale = true
      if (each.isStale) await reload(each)
    }
    for (const { topic, subject } of isComplete ? news : []) await tell(topic as Topic, subject as string)
    if (!isComplete)
      log.warn('changes of other replicas were missed; everything was read again', { seen, newest })
    seen = newest
    epoch = newest
    polledAt = begun
    isBehind = false
  }

  async function reload(each: Followed): Promise<void> {
    try {
      await each.follower.reload()
      each.isStale = false
    } catch (cause) {
      // Each poll tries again, and health fails meanwhile: what made it stale was logged.
      log.debug('what is in memory could not be read again', { topic: each.topic, cause })
    }
  }

  async function tell(topic: Topic, subject: string): Promise<void> {
    for (const each of followed) {
      if (each.topic !== topic || each.isStale) continue
      try {
        await each.follower.changed(subject)
      } catch (cause) {
        each.isStale = true
        log.warn('a change could not be followed and is tried again', { topic, subject, cause })
      }
    }
  }

  async function pollWhileWanted(): Promise<void> {
    do {
      isWanted = false
      await poll()
    } while (isWanted)
  }

  const run = shareRun(() =>
    pollWhileWanted().catch((cause) => {
      failedAt = monotonic()
      log.warn('the changes of other replicas could not be read', { cause })
    }),
  )
  /** One at a time; who asks while one runs gets another after it. Never rejects. */
  function read(): Promise<void> {
    isWanted = true
    return run()
  }

  const isDue = () => store.isShared || isBehind || followed.some((each) => each.isStale)
  store.onWake(safely('changes.wake', read))
  const timer = setInterval(
    safely('changes.poll', () => (isDue() ? read() : undefined)),
    times.poll,
  )
  timer.unref()

  function checkFresh(): void {
    refuseIf(isBehind || isOld() || followed.some((each) => each.isStale))
  }

  const follow: Follow = (topic, follower) => {
    const own: Followed = { topic, follower, isStale: false }
    followed.push(own)
    return () => refuseIf(isBehind || own.isStale || isOld())
  }

  return {
    cache: (own) => createTrustCache(follow, own),
    copy: (own) => openTrustCopy(follow, own),
    onChange(topic, listener) {
      follow(topic, { changed: listener, reload: () => listener('') })
    },
    epoch: () => epoch,
    checkFresh,
    async ensureFresh() {
      const isOutdated = () => isBehind || isOld()
      if (isOutdated() && monotonic() - failedAt > times.poll) await within(read(), times.answer)
      refuseIf(isOutdated())
    },
    async commit(statements, noted) {
      const now = clock.steady()
      const notes = noted.flatMap(([topic, subject]) => [
        // The row of the counter is locked until the end of the transaction: numbers become visible in their order.
        sql`UPDATE counters SET value = value + 1 WHERE name = 'changes'`,
        sql`INSERT INTO changes SELECT value, CAST(${topic} AS TEXT), CAST(${subject} AS TEXT), CAST(${now} AS BIGINT)
          FROM counters WHERE name = 'changes'`,
      ])
      try {
        const rows = await store.transaction([
          ...notes,
          ...statements,
          sql`DELETE FROM changes WHERE at < ${now - times.keep}`,
        ])
        return rows.slice(notes.length, -1)
      } finally {
        // Also after a failure: a transaction whose answer was lost may have been done.
        const failedBefore = failedAt
        await read()
        isBehind = failedAt !== failedBefore
        await store.wakeOthers()
      }
    },
    async stop() {
      clearInterval(timer)
      await run.present()
    },
  }
}

/** Waits for work, but no longer than a time. @param ms milliseconds */
async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}
