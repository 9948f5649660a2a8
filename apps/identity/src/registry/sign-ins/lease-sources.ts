/** What leases come from: a lease ends at the latest with its developer ID token or its sign-in. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'

export interface LeaseSources {
  /**
   * When a developer ID token or a sign-in expires, in Unix milliseconds; undefined if it was revoked, or is not known any more.
   *
   * @param id its `jti` or `sid`
   */
  expiresAt(id: string): Promise<number | undefined>
}

export const createLeaseSources = (store: SqlStore): LeaseSources => ({
  async expiresAt(id) {
    const [row] = await store.run<{ expires_at: number }>(
      sql`SELECT expires_at FROM developer_tokens WHERE jti = ${id} AND revoked_at IS NULL
        UNION ALL SELECT expires_at FROM sign_ins WHERE sid = ${id} AND revoked_at IS NULL`,
    )
    return row?.expires_at
  },
})
