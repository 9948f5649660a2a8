/** Files that are written once and never changed, such as keys: whole under their name, or not there. */
import { randomUUID } from 'node:crypto'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder, syncFoundNames } from './sync-folder.ts'

/**
 * Writes a file, or replaces it as a whole. Content and name are on the disk when this resolves; after a power cut or a failure
 * the file is as it was before, or as it should be.
 *
 * @param mode permissions of the file
 * @throws NodeJS.ErrnoException when it could not be written
 */
export async function writeOnce(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const folder = dirname(path)
  const prefix = `.${basename(path)}.`
  // An earlier process left it: only one process at a time uses the state folder.
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix) && name.endsWith('.draft')) await rm(join(folder, name), { force: true })
  }
  const draft = join(folder, `${prefix}${randomUUID()}.draft`)
  try {
    const handle = await open(draft, 'wx', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, path)
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw cause
  }
  await syncFolder(folder)
}

/**
 * The content of a file, which is created if it is missing. Content and name are on the disk when this resolves, so what
 * depends on them (data that is encrypted with a key) may be stored: an earlier run may have exited before it synced the name.
 *
 * @param make gives the content of a new file, or throws if no file may be created
 * @throws NodeJS.ErrnoException when it can't be read or written
 */
export async function readOrWriteOnce(
  path: string,
  make: () => string | Uint8Array | Promise<string>,
): Promise<Buffer> {
  try {
    const content = await readFile(path)
    await syncFoundNames(dirname(path))
    return content
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
  }
  const content = await make()
  await writeOnce(path, content)
  return Buffer.from(content)
}
