import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { batch, inBatches, type SweepTask } from '../../storage/sweep/sweep.ts'

/**
 * Removes nodes that enrolled, never had an account, and were not seen for some time. Each may enrol again. A blocked node stays
 * blocked, and a node that left an account stays: it must not return with a token from before.
 *
 * @param retentionMs milliseconds from when a node was last seen until it is removed
 */
export const removeStrangers = (store: SqlStore, retentionMs: number): SweepTask => ({
  name: 'nodes',
  run: (until) =>
    inBatches(
      store,
      () => sql`DELETE FROM nodes WHERE node_id IN (SELECT node_id FROM nodes WHERE account_id = ''
        AND last_seen_at <= ${until - retentionMs} AND blocked_at IS NULL AND removed_account = ''
        AND account_at = 0 AND account_epoch = 0 LIMIT ${batch}) RETURNING 1 AS one`,
    ),
})
