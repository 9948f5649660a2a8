/** The one place where a daemon makes folders. `tests/rules/durable-files.test.ts` finds others. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolderNow } from './sync-folder.ts'

/**
 * Makes a folder for state and the missing ones above it, mode 0700. Its name is on the disk when this returns, also where an
 * earlier run made it and exited before it could sync the name.
 *
 * @throws NodeJS.ErrnoException
 */
export function makeFolder(path: string): void {
  const above = dirname(path)
  if (!isFolder(path)) {
    if (above !== path && !isOther(above)) makeFolder(above)
    makeOne(path)
  }
  syncFolderNow(above)
}

/**
 * Makes a folder that need not survive a power cut (for sockets, for cgroups), and the missing ones above it, mode 0700.
 *
 * @throws NodeJS.ErrnoException
 */
export function makeTransientFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path && !isOther(above)) makeTransientFolder(above)
  makeOne(path)
}

/**
 * Node's own recursive `mkdir` is not used: where the file system answers "no such file" for a folder whose parent exists, as
 * /proc does, it never returns, and neither does `process.exit`.
 */
function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    // Another process may have made it meanwhile.
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(path)) throw cause
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Not a folder: making a folder in it fails with the reason. */
const isOther = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
