import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder and the missing ones above it, mode 0700. Node's own recursive `mkdir` is not used: where the file system
 * answers "no such file" for a folder whose parent exists, as /proc does, it never returns, and neither does `process.exit`.
 *
 * @throws NodeJS.ErrnoException
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path && !existsSync(above)) makeFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    // Another process may have made it meanwhile.
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(path)) throw cause
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
