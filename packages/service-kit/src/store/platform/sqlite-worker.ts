/**
 * The thread that owns the database file. Jobs of one message are committed together: one fsync for all of them, a
 * savepoint for each, so that a failure affects no other.
 */
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Row } from '../sql.ts'
import type { Job, JobResult, WorkerSettings } from '../sqlite.ts'
import { openDatabase } from './open-database.ts'

/** Statements that stay prepared: lists of values make the same statement in many lengths. */
const maxPrepared = 500

/**
 * Errors of the disk in SQLite, as system error codes: SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_CORRUPT
 * and SQLITE_NOTADB. A page that cannot be read for a moment is called corrupt, too.
 */
const systemCodes: Readonly<Record<number, string>> = {
  13: 'ENOSPC',
  10: 'EIO',
  14: 'EIO',
  8: 'EROFS',
  11: 'EUCLEAN',
  26: 'EUCLEAN',
}

const { path, migrations } = workerData as WorkerSettings
const database = openDatabase(path, migrations)

const prepared = new Map<string, StatementSync>()
const port = parentPort!
port.on('message', (message: readonly Job[] | 'close') => {
  if (message !== 'close') return port.postMessage(commit(message))
  database.close()
  port.close()
})
port.postMessage('ready')

function commit(jobs: readonly Job[]): JobResult[] {
  try {
    // A transaction that writes locks the database at its begin. One that only reads needs no lock, and its commit writes nothing.
    control(jobs.every(onlyReads) ? 'BEGIN' : 'BEGIN IMMEDIATE')
    const results = jobs.map(runJob)
    control('COMMIT')
    return results
  } catch (cause) {
    if (database.isTransaction) database.exec('ROLLBACK')
    return jobs.map(({ id }) => failure(id, cause))
  }
}

const onlyReads = ({ statements }: Job): boolean => statements.every(({ sql }) => sql.startsWith('SELECT '))

/** Prepared like any other statement. */
const control = (text: string) => void prepare(text).run()

function runJob({ id, statements }: Job): JobResult {
  // One statement alone has its whole effect, or is undone.
  const isWhole = statements.length === 1
  if (!isWhole) control('SAVEPOINT job')
  try {
    const rows = statements.map(
      ({ sql, values }) => prepare(sql).all(...(values as SQLInputValue[])) as unknown as Row[],
    )
    if (!isWhole) control('RELEASE job')
    return { id, rows: rows.map((each) => each.map((row) => ({ ...row }))) }
  } catch (cause) {
    // A failure of the disk ends the whole transaction: every job of it has failed, and for this reason.
    if (!database.isTransaction) throw cause
    if (!isWhole) database.exec('ROLLBACK TO job; RELEASE job')
    return failure(id, cause)
  }
}

function prepare(text: string): StatementSync {
  let statement = prepared.get(text)
  if (!statement) {
    if (prepared.size >= maxPrepared) prepared.clear()
    prepared.set(text, (statement = database.prepare(text)))
  }
  return statement
}

function failure(id: number, cause: unknown): JobResult {
  const { message, errcode } = cause as Error & { errcode?: number }
  return { id, error: message, code: systemCodes[(errcode ?? 0) % 256] }
}
