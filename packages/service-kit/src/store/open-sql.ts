/** SQL stores by URL. A separate subpath, since a device does not need the driver of PostgreSQL. */
import { openPostgres } from './postgres.ts'
import type { Migrations, SqlStore } from './sql.ts'
import { openSqlite } from './sqlite.ts'
import { StoreError } from './store-error.ts'

export { withStorePassword } from './store-password.ts'

/**
 * @param url `sqlite:<file>` or `postgres://…`
 * @throws StoreError
 */
export function openSql(url: string, migrations: Migrations): Promise<SqlStore> {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), migrations)
  if (/^postgres(?:ql)?:\/\//.test(url)) return openPostgres(url, migrations)
  return Promise.reject(
    new StoreError(`the store ${JSON.stringify(url)} is neither sqlite:<file> nor postgres://host/database`),
  )
}
