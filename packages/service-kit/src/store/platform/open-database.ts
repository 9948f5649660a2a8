import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { addedTablesOf, type Migrations, newerVersion, stepsOf } from '../sql.ts'
import { hasLostCommits } from './check-wal.ts'

/** Bytes up to which the whole database is checked when it is opened: a tenth of a second. */
const maxCheckedBytes = 64 * 1024 * 1024

/**
 * Opens a database file, made where it is not there, and brings its tables up to date. A commit is on the disk when it returns.
 * A database that is damaged, or that a later version has changed, is refused before anything is changed.
 *
 * @throws Error of SQLite; one with the code NEWER_VERSION or DAMAGED
 */
export function openDatabase(path: string, migrations: Migrations): DatabaseSync {
  try {
    return openOnce(path, migrations)
  } catch (cause) {
    // SQLite also calls a page malformed that could not be read for a moment.
    if (!isDamage(cause)) throw cause
    return openOnce(path, migrations)
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, and what is found here. */
function isDamage(cause: unknown): boolean {
  const { code, errcode } = cause as { code?: string; errcode?: number }
  return code === 'DAMAGED' || errcode === 11 || errcode === 26
}

function openOnce(path: string, migrations: Migrations): DatabaseSync {
  if (hasLostCommits(`${path}-wal`))
    throw damaged(`${path}-wal is damaged: commits that were acknowledged cannot be read any more`)
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    prepare(database, path, migrations)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/** Refuses a damaged or newer database, and brings the tables of any other up to date. */
function prepare(database: DatabaseSync, path: string, migrations: Migrations): void {
  const { user_version: done } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  const steps = stepsOf(migrations)
  if (done > steps.length) throw newerVersion(done, steps.length)
  if (statSync(path).size <= maxCheckedBytes) {
    const [first] = database.prepare('PRAGMA integrity_check(1)').all() as { integrity_check: string }[]
    if (first?.integrity_check !== 'ok') throw damaged(`it is damaged: ${first?.integrity_check}`)
  }
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  for (let step = done; step < steps.length; step++) {
    database.exec(`BEGIN IMMEDIATE; ${steps[step]}; PRAGMA user_version = ${step + 1}; COMMIT`)
  }
  for (const { table, sqlite } of addedTablesOf(migrations)) {
    if (!hasTable(database, table)) database.exec(`BEGIN IMMEDIATE; ${sqlite}; COMMIT`)
  }
}

export const hasTable = (database: DatabaseSync, table: string): boolean =>
  database.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(table) !== undefined

const damaged = (what: string): Error =>
  Object.assign(new Error(`${what}. Nothing was changed. Restore a backup`), { code: 'DAMAGED' })
