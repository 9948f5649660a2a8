/**
 * Where a service stores the lists of other issuers, in its table `revocation_lists`: a revoked token is refused after a restart,
 * too, without a network.
 */
import { type SqlStore, sql } from '../store/index.ts'
import type { ListStorage } from './feed.ts'
import { type StoredLists, storedLists } from './lists.ts'

/** A process decides by what it read or wrote last; each replica fetches for itself. */
export async function openListStorage(database: SqlStore): Promise<ListStorage> {
  const rows = await database.run<{ issuer: string; list: string }>(sql`SELECT * FROM revocation_lists`)
  let value = storedLists.parse({
    lists: Object.fromEntries(rows.map(({ issuer, list }) => [issuer, JSON.parse(list)])),
  })
  return {
    get value() {
      return value
    },
    async update(change) {
      const before = value
      const next: StoredLists = change(before)
      const changed = Object.entries(next.lists).filter(([issuer, list]) => before.lists[issuer] !== list)
      await database.transaction(
        changed.map(
          ([issuer, list]) =>
            sql`INSERT INTO revocation_lists VALUES (${issuer}, ${JSON.stringify(list)})
              ON CONFLICT (issuer) DO UPDATE SET list = excluded.list`,
        ),
      )
      // Another issuer's list may have been stored meanwhile.
      value = { lists: { ...value.lists, ...Object.fromEntries(changed) } }
    },
  }
}
