/** A name is on the disk once the folder that holds it was synced. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * Codes of a folder that cannot be synced: its file system has nothing to sync (cgroups, /proc), or this user may create in it
 * and not read it. An error of the disk is not ignored.
 */
const cannotSync: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP', 'EROFS', 'EACCES', 'EPERM'])

/** Makes the names in a folder survive a power cut. @throws NodeJS.ErrnoException when the disk fails */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (cause) {
    if (!cannotSync.has((cause as NodeJS.ErrnoException).code)) throw cause
  }
}

/** The same, synchronously: for the start of a program. */
export function syncFolderNow(folder: string): void {
  try {
    const opened = openSync(folder, 'r')
    try {
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
  } catch (cause) {
    if (!cannotSync.has((cause as NodeJS.ErrnoException).code)) throw cause
  }
}
