import { DatabaseSync } from 'node:sqlite'
import { type Migrations, newerVersion } from '../sql.ts'

/**
 * Opens a database file, made where it is not there, and brings its tables up to date. A commit is on the disk when it returns.
 *
 * @throws Error of SQLite; one with the code NEWER_VERSION where a later version has changed the tables
 */
export function openDatabase(path: string, migrations: Migrations): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const { user_version: done } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (done > migrations.length) throw newerVersion(done, migrations.length)
  for (let step = done; step < migrations.length; step++) {
    database.exec(`BEGIN IMMEDIATE; ${migrations[step]}; PRAGMA user_version = ${step + 1}; COMMIT`)
  }
  return database
}
