/**
 * Rate limits of rare requests that replicas count together: attempts with a secret, new nodes. The store has, for each key, the
 * time at which its bucket is full again. One statement removes a token from the bucket.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Rate } from '@selvedge/service-kit/http'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

export interface SharedLimiter {
  /** Counts one request of a key. @returns 0 if it is allowed, otherwise the seconds until the next one is */
  take(key: string): Promise<number>
  /** Refunds a request that turned out to be harmless. */
  giveBack(key: string): Promise<void>
}

/** @param name of the limit; keys of different limits are separate */
export function createSharedLimiter(
  store: SqlStore,
  clock: Clock,
  name: string,
  { burst, perSecond }: Rate,
): SharedLimiter {
  /** Milliseconds in which a bucket fills by one, and by all but one of its burst. */
  const stepMs = Math.round(1000 / perSecond)
  const burstMs = Math.round(((burst - 1) * 1000) / perSecond)
  const keyOf = (key: string) => `${name} ${key}`

  return {
    async take(key) {
      const now = clock.now()
      // No bucket is empty for longer than the time to fill it. A later time was written before the clock was corrected.
      const rows = await store.run(
        sql`INSERT INTO buckets VALUES (${keyOf(key)}, ${now + stepMs}) ON CONFLICT (key) DO UPDATE SET full_at = ${stepMs} +
            CASE WHEN buckets.full_at > ${now} AND buckets.full_at <= ${now + burstMs + stepMs} THEN buckets.full_at ELSE ${now} END
          WHERE buckets.full_at <= ${now + burstMs} OR buckets.full_at > ${now + burstMs + stepMs} RETURNING key`,
      )
      if (rows.length === 1) return 0
      const [row] = await store.run(sql`SELECT full_at FROM buckets WHERE key = ${keyOf(key)}`)
      return Math.max(1, Math.ceil((((row?.full_at as number | undefined) ?? now) - burstMs - now) / 1000))
    },
    async giveBack(key) {
      await store.run(sql`UPDATE buckets SET full_at = full_at - ${stepMs} WHERE key = ${keyOf(key)}`)
    },
  }
}
