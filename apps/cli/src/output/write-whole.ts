import { randomUUID } from 'node:crypto'
import { lstatSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { UsageError, withPath } from '../failure.ts'

/**
 * Writes a file whole or not at all. A file of that name is replaced; a symbolic link or a device is refused, since a folder of
 * a stranger may hold a link to a file of the user.
 *
 * @param option that names the file
 * @throws UsageError, or what the content throws
 */
export async function writeWhole(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  option = '--output',
): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there && !there.isFile())
    throw new UsageError(
      `${path} is ${there.isSymbolicLink() ? 'a symbolic link' : 'no file'}`,
      `Name another file with ${option}, or remove it first.`,
    )
  const draft = `${path}.${randomUUID()}`
  try {
    await writeFile(draft, content, { flag: 'wx' })
    renameSync(draft, path)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw withPath(cause, path)
  }
}
