/**
 * The only kind of memory that decisions about trust are made from. It follows its topic of the {@link Changes}, refuses to
 * answer (503) while it may be outdated, and never stores a value that was read before a change and arrived after it.
 */
import { RecentMap } from '@selvedge/service-kit/tokens'

/** What is in memory; each topic has one {@link Follower}, which is a `TrustCache`. */
export const topics = ['keys', 'revocation', 'project', 'issuer', 'origin', 'node', 'lease'] as const
/** What can be changed. `origin`: whether a project has it. `person`: sessions or memberships of a person, which no replica has in memory. */
export type Topic = (typeof topics)[number] | 'person'

/** What has something of the store in memory. */
export interface Follower {
  /** A subject changed. If this rejects, the follower is stale until {@link Follower.reload} succeeds; others are not. */
  changed(subject: string): void | Promise<void>
  /** Changes were missed: whatever is in memory may be outdated. */
  reload(): void | Promise<void>
}

/** Adds the follower of a topic. @returns throws `temporarily_unavailable` while what the follower has may be outdated */
export type Follow = (topic: Topic, follower: Follower) => () => void

export interface TrustCache<V> {
  /** What is in memory. @throws OAuthError `temporarily_unavailable` */
  get(subject: string): V | undefined
  /** What is in memory, else in the store. @throws OAuthError `temporarily_unavailable` */
  find(subject: string): Promise<V | undefined>
  /** Runs a read or a write of the store that yields a value, and stores it unless something changed meanwhile. */
  fill(subject: string, work: () => Promise<V | undefined>): Promise<V | undefined>
}

export interface TrustCacheOptions<V> {
  readonly topic: Topic
  /** Entries at most. */
  readonly limit: number
  readonly read: (subject: string) => Promise<V | undefined>
  /** Called after the entry of a subject was dropped. */
  readonly onChange?: (subject: string) => void | Promise<void>
}

/** A cache of entries that were used of late. */
export function createTrustCache<V>(
  follow: Follow,
  { topic, limit, read, onChange }: TrustCacheOptions<V>,
): TrustCache<V> {
  const recent = new RecentMap<string, V>(limit)
  let version = 0
  const check = follow(topic, {
    changed(subject) {
      version++
      recent.delete(subject)
      return onChange?.(subject)
    },
    reload() {
      version++
      recent.clear()
    },
  })

  async function fill(subject: string, work: () => Promise<V | undefined>): Promise<V | undefined> {
    const before = version
    const value = await work()
    if (value !== undefined && before === version) recent.set(subject, value)
    return value
  }

  return {
    fill,
    get(subject) {
      check()
      return recent.get(subject)
    },
    async find(subject) {
      check()
      const known = recent.get(subject)
      if (known !== undefined) return known
      const value = await fill(subject, () => read(subject))
      check()
      return value
    },
  }
}

export interface TrustCopy<V> {
  /** @throws OAuthError `temporarily_unavailable` */
  get(subject: string): V | undefined
  /** All entries. @throws OAuthError `temporarily_unavailable` */
  all(): ReadonlyMap<string, V>
  /** What was read last, outdated or not: only for values that never become wrong. */
  held(): ReadonlyMap<string, V>
  /** Drops entries that expired. */
  prune(isOver: (value: V) => boolean): void
}

export interface TrustCopyOptions<V> {
  readonly topic: Topic
  readonly readAll: () => Promise<ReadonlyMap<string, V>>
  /** Reads the entries that were made or changed since it was called last; absent: each change reads all of them. */
  readonly readNew?: () => Promise<ReadonlyMap<string, V>>
  /** Called after entries changed. */
  readonly onChange?: (entries: ReadonlyMap<string, V>) => void
}

/** A copy of a whole table. @throws whatever the first read throws */
export async function openTrustCopy<V>(follow: Follow, options: TrustCopyOptions<V>): Promise<TrustCopy<V>> {
  const { topic, readAll, readNew, onChange } = options
  let entries = new Map<string, V>()
  let version = 0

  async function reload(): Promise<void> {
    for (;;) {
      const before = version
      const all = await readAll()
      if (before !== version) continue
      entries = new Map(all)
      onChange?.(entries)
      return
    }
  }

  const check = follow(topic, {
    async changed() {
      version++
      if (!readNew) return reload()
      for (const [subject, value] of await readNew()) entries.set(subject, value)
      onChange?.(entries)
    },
    reload,
  })
  // After it follows: a change between the read and the first poll is not lost.
  await reload()

  return {
    get(subject) {
      check()
      return entries.get(subject)
    },
    all() {
      check()
      return entries
    },
    held: () => entries,
    prune(isOver) {
      for (const [subject, value] of entries) if (isOver(value)) entries.delete(subject)
    },
  }
}
