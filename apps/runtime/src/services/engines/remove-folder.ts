/** Removes folders of instances, also on a device without a free file descriptor, which is why some instances fail to start. */
import { lstatSync, rmdirSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Removes a folder and everything in it; one that is missing is removed already.
 *
 * @param names paths in the folder that are expected there, the contents of a folder before the folder. They are removed by name, which
 *   needs no file descriptor; only a folder with more than these is read
 */
export function removeFolder(path: string, names: readonly string[]): void {
  try {
    for (const each of names) removeOne(join(path, each))
    removeOne(path)
  } catch {
    rmSync(path, { recursive: true, force: true })
  }
}

function removeOne(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) rmdirSync(path)
  else if (found) unlinkSync(path)
}
