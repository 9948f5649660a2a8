import { randomUUID } from 'node:crypto'
import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { UsageError } from '../failure.ts'

/**
 * Writes a file whole or not at all. A file of that name is replaced; a symbolic link or a device is refused, since a folder of
 * a stranger may hold a link to a file of the user.
 *
 * @throws UsageError
 */
export function writeArchive(path: string, content: Uint8Array): void {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there && !there.isFile())
    throw new UsageError(
      `${path} is ${there.isSymbolicLink() ? 'a symbolic link' : 'no file'}`,
      'Name another file with --output, or remove it first.',
    )
  const draft = `${path}.${randomUUID()}`
  try {
    writeFileSync(draft, content, { flag: 'wx' })
    renameSync(draft, path)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw cause
  }
}
