/** DPoP proofs that were used, for all replicas. A single process has its own memory of them. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'

/** @returns uses an ID up: one caller gets true */
export function createUsedProofs(store: SqlStore): (id: string, endsAt: number) => Promise<boolean> {
  return async (id, endsAt) => {
    if (!store.isShared) return true
    const rows = await store.run(
      sql`INSERT INTO used_proofs VALUES (${id}, ${endsAt * 1000}) ON CONFLICT DO NOTHING RETURNING id`,
    )
    return rows.length === 1
  }
}
