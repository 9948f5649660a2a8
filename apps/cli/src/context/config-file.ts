/** JSON files of the user's configuration folder. Each file states the number of its format, so that an older version does not change a newer file. */
import { UsageError } from '../failure.ts'
import { readPrivateFile, writePrivateFile } from './config-folder.ts'

/** Format of the files that this version writes; it reads this one, and files without a number from before there was one. */
const format = 1

/**
 * Reads a file.
 *
 * @param remedy what to do if the file is damaged
 * @returns what is in it, unchecked; undefined if there is no file
 * @throws UsageError if it is damaged, of a later format, or not private
 */
export function readConfigFile(path: string, remedy: string): unknown {
  const text = readPrivateFile(path)
  if (text === undefined) return undefined
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw damagedFile(path, remedy)
  }
  const { format: found = format } = Object(content) as { format?: unknown }
  if (!Number.isSafeInteger(found) || (found as number) < 1) throw damagedFile(path, remedy)
  if ((found as number) > format)
    throw new UsageError(
      `${path} was written by a later version of selvedge (format ${found}; this version reads format ${format}). The file was not changed.`,
      'Use that version, or set XDG_CONFIG_HOME to another folder for this one.',
    )
  return content
}

/**
 * Replaces a file, unless it is of a later format.
 *
 * @throws UsageError if the file is of a later format, or the folder is not the user's alone
 */
export function writeConfigFile(path: string, content: object): void {
  readConfigFile(path, 'Remove it.')
  writePrivateFile(path, `${JSON.stringify({ format, ...content })}\n`)
}

export const damagedFile = (path: string, remedy: string): UsageError =>
  new UsageError(`${path} is damaged`, remedy)
