/** The parts that have something of the store in memory, and which of them are stale. */
import type { Log } from '@selvedge/service-kit/log'
import type { Follower, Topic } from './trust-cache.ts'

interface Followed {
  /** Whether what it has in memory may be outdated. */
  readonly isStale: boolean
}

export interface Followers {
  follow(topic: Topic, follower: Follower): Followed
  /** Whether any follower is stale. */
  hasStale(): boolean
  /** Notifies the followers of a topic. A follower that fails is stale until it has been reloaded. Never rejects. */
  notify(topic: Topic, subject: string): Promise<void>
  /** Reloads the stale followers. One that fails stays stale. Never rejects. */
  reloadStale(): Promise<void>
  /** Marks all followers as stale. */
  distrust(): void
}

interface Entry {
  readonly topic: Topic
  readonly follower: Follower
  isStale: boolean
}

export function createFollowers(log: Log): Followers {
  const followed: Entry[] = []

  async function reload(each: Entry): Promise<void> {
    try {
      await each.follower.reload()
      each.isStale = false
    } catch (cause) {
      // Each poll tries again, and health fails meanwhile: what made it stale was logged.
      log.debug('what is in memory could not be read again', { topic: each.topic, cause })
    }
  }

  return {
    follow(topic, follower) {
      const entry = { topic, follower, isStale: false }
      followed.push(entry)
      return entry
    },
    hasStale: () => followed.some((each) => each.isStale),
    async notify(topic, subject) {
      for (const each of followed) {
        if (each.topic !== topic || each.isStale) continue
        try {
          await each.follower.changed(subject)
        } catch (cause) {
          each.isStale = true
          log.warn('a change could not be followed and is tried again', { topic, subject, cause })
        }
      }
    },
    async reloadStale() {
      for (const each of followed) if (each.isStale) await reload(each)
    },
    distrust() {
      for (const each of followed) each.isStale = true
    },
  }
}
