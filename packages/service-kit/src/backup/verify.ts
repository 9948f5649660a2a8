/** Checks of a restored database before it is put in place. */
import type { DatabaseSync } from 'node:sqlite'
import { hasTable, openDatabase } from '../store/platform/open-database.ts'
import { addedTablesOf, type Migrations, newerVersion, stepsOf } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'

/**
 * Opens the database of a backup, with its tables brought up to date.
 *
 * @throws StoreError when it is damaged, of a later version, or has other tables than the program made in that version
 */
export function openRestored(path: string, migrations: Migrations): DatabaseSync {
  try {
    expectOwnTables(path, migrations)
    return openDatabase(path, migrations)
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    throw refusal((cause as Error).message, cause)
  }
}

function expectOwnTables(path: string, migrations: Migrations): void {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  using restored = new DatabaseSync(path, { readOnly: true })
  using expected = new DatabaseSync(':memory:')
  const { user_version: version } = restored.prepare('PRAGMA user_version').get() as {
    user_version: number
  }
  const steps = stepsOf(migrations)
  if (version > steps.length) throw newerVersion(version, steps.length)
  const [check] = restored.prepare('PRAGMA integrity_check(1)').all() as { integrity_check: string }[]
  if (check!.integrity_check !== 'ok') throw refusal(`its database is damaged: ${check!.integrity_check}`)
  for (const step of steps.slice(0, version)) expected.exec(step)
  for (const { table, sqlite } of addedTablesOf(migrations)) {
    if (hasTable(restored, table)) expected.exec(sqlite)
  }
  if (tablesOf(restored) !== tablesOf(expected))
    throw refusal('its database has other tables than this service makes')
}

/** Tables, indexes, views and triggers, as they were declared. */
const tablesOf = (database: DatabaseSync): string =>
  JSON.stringify(
    database
      .prepare(
        `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`,
      )
      .all(),
  )

const refusal = (why: string, cause?: unknown): StoreError =>
  new StoreError(`the backup cannot be used: ${why}. Nothing was changed`, { cause, isUnrepairable: true })
