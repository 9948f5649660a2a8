/** One process at a time: a lock on a file that the kernel releases when the process ends, however it ends. */
import { closeSync, openSync } from 'node:fs'
import { StoreError } from './store-error.ts'

/** SQLITE_BUSY */
const busy = 5

/**
 * Acquires the lock. Node has no flock, SQLite's lock on a database file does the same; the file stays empty.
 *
 * @param file made with mode 0600
 * @returns releases it
 * @throws StoreError when another process has it; NodeJS.ErrnoException when the file cannot be made
 */
export function takeLock(file: string, taken: string): () => void {
  closeSync(openSync(file, 'a', 0o600))
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if ((cause as { errcode?: number }).errcode === busy) throw new StoreError(taken, { cause })
    throw cause
  }
  return () => database.close()
}
