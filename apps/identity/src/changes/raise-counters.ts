/**
 * Numbers of changes and of the list of revoked tokens decide what was issued before what. A restored backup would set them back:
 * tokens that were issued after the backup was made carry larger numbers, and a revocation of today would not reach them. So each
 * start raises the numbers to the present time in milliseconds, which is beyond any number that was given out before: the service
 * makes fewer than a thousand changes a second. A clock that is behind raises nothing, and one that is ahead does no harm.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

export async function raiseCounters(store: SqlStore, clock: Clock): Promise<void> {
  const now = clock.now()
  await store.run(
    sql`UPDATE counters SET value = ${now} WHERE name IN ('changes', 'revocations') AND value < ${now}`,
  )
}
