/** DPoP proofs that were used, for all replicas. A single process has its own memory of them. */
import { refusesWrites, type SqlStore, sql } from '@selvedge/service-kit/store'

/**
 * While the database only reads, each replica uses proofs up alone, in its memory: a device still gets tokens, and a captured
 * proof counts once more at each other replica, for its nonce's lifetime. It gives a token that is bound to the same key.
 *
 * @returns uses an ID up: one caller gets true
 */
export function createUsedProofs(store: SqlStore): (id: string, endsAt: number) => Promise<boolean> {
  return async (id, endsAt) => {
    if (!store.isShared) return true
    try {
      const rows = await store.run(
        sql`INSERT INTO used_proofs VALUES (${id}, ${endsAt * 1000}) ON CONFLICT DO NOTHING RETURNING id`,
      )
      return rows.length === 1
    } catch (cause) {
      if (refusesWrites(cause)) return true
      throw cause
    }
  }
}
