/** What leaves the list for runtimes, and the store, because every token that it is about has expired. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { batch, inBatches, type SweepTask } from '../../storage/sweep/sweep.ts'
import type { Folding } from './folding.ts'
import type { Revocations } from './revocations.ts'
import { nextStep } from './rows.ts'

/** States of the list from which a runtime can continue: maximum age and number. From an older state, it gets the whole list. */
const retained = { ms: 2 * 86_400_000, steps: 50_000 }

export function revocationExpiry(
  store: SqlStore,
  revocations: Pick<Revocations, 'forgetEnded'>,
  folding: Pick<Folding, 'checkAll'>,
): readonly SweepTask[] {
  /** Each batch is a state of the list, which reports the entries that expired. */
  async function unlist(until: number): Promise<void> {
    let found: number
    do {
      const due = await store.run(
        sql`SELECT 1 AS one FROM revocations WHERE is_listed = 1 AND listed_until <= ${until} LIMIT ${batch}`,
      )
      found = due.length
      if (found === 0) return
      await store.transaction([
        ...nextStep(until),
        sql`UPDATE revocations SET is_listed = 0, seq = (SELECT value FROM counters WHERE name = 'revocations')
          WHERE (kind, subject) IN
            (SELECT kind, subject FROM revocations WHERE is_listed = 1 AND listed_until <= ${until} LIMIT ${batch})`,
      ])
    } while (found === batch)
  }

  /** Rows that are no longer listed stay until no runtime can have a state from which it has to learn their end. */
  async function remove(until: number): Promise<void> {
    await inBatches(
      store,
      () => sql`DELETE FROM revocation_steps WHERE seq IN
        (SELECT seq FROM revocation_steps WHERE (at <= ${until - retained.ms}
            OR seq <= (SELECT value - ${retained.steps} FROM counters WHERE name = 'revocations'))
          AND seq < (SELECT value FROM counters WHERE name = 'revocations') LIMIT ${batch}) RETURNING 1 AS one`,
    )
    await inBatches(
      store,
      () => sql`DELETE FROM revocations WHERE (kind, subject) IN
        (SELECT kind, subject FROM revocations WHERE expires_at <= ${until} AND is_listed = 0
          AND seq <= (SELECT MIN(seq) FROM revocation_steps) LIMIT ${batch}) RETURNING 1 AS one`,
    )
  }

  return [
    { name: 'revocations listed', run: unlist },
    { name: 'revocations bound', run: () => folding.checkAll() },
    { name: 'revocations', run: remove },
    { name: 'revocations in memory', run: async (until) => revocations.forgetEnded(until) },
  ]
}
