/**
 * Numbers of changes and of the list of revoked tokens decide what was issued before what. A restored backup would set them back:
 * tokens that were issued after the backup was made carry larger numbers, and a revocation of today would not reach them. So each
 * start raises the numbers to the present time in milliseconds, which is beyond any number that was given out before: the service
 * makes fewer than a thousand changes a second. A clock that is behind raises nothing, and one that is ahead does no harm.
 *
 * The raise is a change itself, with the number from before: other replicas see that they missed nothing, and continue to answer.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

/** Topic of a change that raised the counter; its subject is the number from before. */
export const raised = 'raised'

export async function raiseCounters(store: SqlStore, clock: Clock): Promise<void> {
  const now = clock.now()
  await store.transaction([
    // Locks the counter, so that the number from before is that of the newest change.
    sql`UPDATE counters SET value = value WHERE name = 'changes'`,
    sql`INSERT INTO changes SELECT CAST(${now} AS BIGINT), ${raised}, CAST(value AS TEXT), CAST(${now} AS BIGINT)
      FROM counters WHERE name = 'changes' AND value < ${now} ON CONFLICT DO NOTHING`,
    sql`UPDATE counters SET value = ${now} WHERE name IN ('changes', 'revocations') AND value < ${now}`,
  ])
}
