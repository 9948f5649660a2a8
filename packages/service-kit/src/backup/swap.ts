/**
 * Puts restored files in the place of the present ones. The present ones stay beside them under another name. A note in the
 * folder shows that this is under way: a daemon does not start while it is there, as it would find half of each.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreError } from '../store/store-error.ts'
import { syncFolderNow } from '../store/sync-folder.ts'

const noteName = 'restore-unfinished'

/** @throws StoreError when a restore into this folder was interrupted */
export function expectNoUnfinishedRestore(folder: string): void {
  if (!existsSync(join(folder, noteName))) return
  throw new StoreError(
    `a restore into ${folder} was interrupted. Run "selvedge admin store restore" again with the same file`,
    { isUnrepairable: true },
  )
}

export interface Replacement {
  /** The restored file. Its content is on the disk. */
  readonly draft: string
  readonly path: string
}

/** Files that belong to a database and are moved with it. */
const companions = ['', '-wal', '-shm']

/**
 * @param folder of the daemon, which is locked
 * @param suffix for the names of the present files: `<path><suffix>`
 * @returns the new names of the present files
 */
export function swapIn(folder: string, replacements: readonly Replacement[], suffix: string): string[] {
  const note = writeNote(folder, suffix)
  const folders = new Set([folder, ...replacements.map(({ path }) => dirname(path))])
  syncAll(folders)
  const aside: string[] = []
  for (const { path } of replacements) {
    for (const companion of companions) {
      if (!existsSync(path + companion)) continue
      renameSync(path + companion, path + suffix + companion)
      if (companion === '') aside.push(path + suffix)
    }
  }
  for (const { draft, path } of replacements) renameSync(draft, path)
  syncAll(folders)
  rmSync(note)
  syncAll(folders)
  return aside
}

/** @throws NodeJS.ErrnoException when the disk is full, for one; then nothing has changed, and there is no note */
function writeNote(folder: string, suffix: string): string {
  const note = join(folder, noteName)
  const written = openSync(note, 'w', 0o600)
  try {
    writeSync(written, `${suffix}\n`)
    fsyncSync(written)
  } catch (cause) {
    rmSync(note)
    throw cause
  } finally {
    closeSync(written)
  }
  return note
}

const syncAll = (folders: ReadonlySet<string>) => folders.forEach(syncFolderNow)
