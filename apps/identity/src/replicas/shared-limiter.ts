/**
 * Rates of what is rare and must not be multiplied by the number of replicas: tries of secrets, new nodes. The store has, for each
 * key, the time at which its bucket is full again; one statement takes from it.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Rate } from '@selvedge/service-kit/http'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

export interface SharedLimiter {
  /** Takes one from what a key has left. @returns 0, or the seconds after which there is one again */
  take(key: string): Promise<number>
  /** Gives one back, for what turned out to be harmless. */
  giveBack(key: string): Promise<void>
}

/** @param name of the rate; keys of different rates are apart */
export function createSharedLimiter(
  store: SqlStore,
  clock: Clock,
  name: string,
  { burst, perSecond }: Rate,
): SharedLimiter {
  /** Milliseconds: for one, and for all but one that may come at once. */
  const step = Math.round(1000 / perSecond)
  const ahead = Math.round(((burst - 1) * 1000) / perSecond)
  const keyOf = (key: string) => `${name} ${key}`

  return {
    async take(key) {
      const now = clock.now()
      // No bucket is empty for longer than it takes to fill it: one that seems so is from before the clock was corrected.
      const rows = await store.run(
        sql`INSERT INTO buckets VALUES (${keyOf(key)}, ${now + step}) ON CONFLICT (key) DO UPDATE SET full_at = ${step} +
            CASE WHEN buckets.full_at > ${now} AND buckets.full_at <= ${now + ahead + step} THEN buckets.full_at ELSE ${now} END
          WHERE buckets.full_at <= ${now + ahead} OR buckets.full_at > ${now + ahead + step} RETURNING key`,
      )
      if (rows.length === 1) return 0
      const [row] = await store.run(sql`SELECT full_at FROM buckets WHERE key = ${keyOf(key)}`)
      return Math.max(1, Math.ceil((((row?.full_at as number | undefined) ?? now) - ahead - now) / 1000))
    },
    async giveBack(key) {
      await store.run(sql`UPDATE buckets SET full_at = full_at - ${step} WHERE key = ${keyOf(key)}`)
    },
  }
}
