/** A consistent copy of a database that other processes may be writing. */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { takeLock } from '../store/folder-lock.ts'
import { hasLostCommits } from '../store/platform/check-wal.ts'
import { newerVersion } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'

export interface Snapshot {
  /** Version of the tables. */
  readonly tables: number
}

/**
 * Copies a database into a new file. It contains every commit that was acknowledged before this was called, and no half of a
 * later one. The copy is read in one transaction: a daemon that writes meanwhile is not delayed.
 *
 * @param lock file that the daemon has locked while it runs
 * @param known newest version of the tables that this program knows
 * @throws StoreError when the database is missing, damaged or of a later version
 */
export function takeSnapshot(path: string, target: string, lock: string, known: number): Snapshot {
  if (!existsSync(path))
    throw new StoreError(`there is no database ${path}: name the state folder with --state or SELVEDGE_STATE`)
  expectWholeLog(path, lock)
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  // Read-only: the log of a stopped daemon stays as it is, for its next start to check.
  const source = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    const { user_version: tables } = source.prepare('PRAGMA user_version').get() as { user_version: number }
    if (tables > known) throw newerVersion(tables, known)
    source.prepare('VACUUM INTO ?').run(target)
    return { tables }
  } catch (cause) {
    const { message } = cause as Error
    const room = /disk is full|disk I\/O/i.test(message)
      ? `: ${target} is written there first, and needs as much room as the database`
      : ''
    throw new StoreError(`the database ${path} cannot be copied: ${message}${room}`, {
      ...{ cause, isUnrepairable: true },
    })
  } finally {
    source.close()
  }
}

/** Only a stopped daemon's log can be judged: a running one writes it at this moment. */
function expectWholeLog(path: string, lock: string): void {
  let release: () => void
  try {
    release = takeLock(lock, 'it runs')
  } catch (cause) {
    if (cause instanceof StoreError) return
    throw cause
  }
  try {
    if (hasLostCommits(`${path}-wal`))
      throw new StoreError(`${path}-wal is damaged: acknowledged commits cannot be read any more`)
  } finally {
    release()
  }
}

/** Path for a temporary copy. It names this process, so that a later run can remove what a killed one left. */
export function draftPath(folder: string): string {
  removeLeftDrafts(folder)
  return join(folder, `backup-${process.pid}.draft`)
}

function removeLeftDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = /^backup-(\d+)\.draft$/.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true })
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** User and group of the daemon: those of its folder, or of the closest folder above that exists. */
export function ownerOf(folder: string): { readonly uid: number; readonly gid: number } {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found) return found
  const above = dirname(folder)
  if (above === folder) throw new StoreError(`there is no folder ${basename(folder)}`)
  return ownerOf(above)
}
