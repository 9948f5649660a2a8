/** A name is on the disk once the folder that holds it was synced. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Shared, shareResult } from '../share/share.ts'

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

/** Folders that this process synced before it used what it found in them. */
const found = new Map<string, Shared<void>>()

/**
 * Makes the names that are found in a folder survive a power cut: a process that was killed may have made them and not synced
 * them, and nothing may be built on such a name. Once for each folder and process, as names of its own are synced when they are made.
 *
 * @throws NodeJS.ErrnoException when the disk fails; the next call tries again
 */
export function syncFoundNames(folder: string): Promise<void> {
  let synced = found.get(folder)
  if (!synced) {
    synced = shareResult(() => syncFolder(folder), 'sync of found names')
    found.set(folder, synced)
  }
  return synced()
}
