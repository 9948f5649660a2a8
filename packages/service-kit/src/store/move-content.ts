/** Moves what is in a folder into another one of the same file system. */
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from './sync-folder.ts'

/**
 * Moves everything but some names. When this resolves, all new names are on the disk; interrupted, the rest is moved when it is
 * called again.
 *
 * @param last name that is moved once all others are on the disk; may be left out
 * @throws NodeJS.ErrnoException when the disk fails
 */
export async function moveContent(
  from: string,
  to: string,
  { but, last }: { readonly but: readonly string[]; readonly last?: string },
): Promise<void> {
  for (const name of await readdir(from)) {
    if (!but.includes(name) && name !== last) await rename(join(from, name), join(to, name))
  }
  await syncBoth(from, to)
  if (last === undefined) return
  await rename(join(from, last), join(to, last))
  await syncBoth(from, to)
}

/** The new names first: a power cut between the two leaves both, and never neither. */
async function syncBoth(from: string, to: string): Promise<void> {
  await syncFolder(to)
  await syncFolder(from)
}
