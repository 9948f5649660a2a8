import { joinLimits } from '@selvedge/protocol/tokens'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { batch, inBatches, type SweepTask } from '../../storage/sweep/sweep.ts'

/** Milliseconds for which a join key and its uses are stored after it has expired: a device may have been offline since it joined. */
const retentionMs = 90 * 86_400_000

/** Removes join keys that expired long ago: their uses first, of which there may be many. */
export const removeOldKeys = (store: SqlStore): SweepTask => ({
  name: 'join_keys',
  async run(until) {
    const before = until - retentionMs
    await inBatches(
      store,
      () => sql`DELETE FROM join_uses WHERE (key_id, node_id) IN (SELECT key_id, node_id FROM join_uses WHERE key_id IN
        (SELECT key_id FROM join_keys WHERE expires_at <= ${before} LIMIT ${joinLimits.keys}) LIMIT ${batch}) RETURNING 1 AS one`,
    )
    await inBatches(
      store,
      () => sql`DELETE FROM join_keys WHERE key_id IN (SELECT key_id FROM join_keys WHERE expires_at <= ${before}
        AND NOT EXISTS (SELECT 1 FROM join_uses WHERE join_uses.key_id = join_keys.key_id) LIMIT ${batch}) RETURNING 1 AS one`,
    )
  },
})
