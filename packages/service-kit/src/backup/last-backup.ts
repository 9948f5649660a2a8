/** When the store of a daemon was last backed up: a file in its folder, for `selvedge doctor --production` and for its metrics. */
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { writeOnce } from '../store/write-once.ts'

const fileName = 'last-backup'
/** Longer than a time in ISO 8601. */
const maxBytes = 40
/** Never waits for the writer of a pipe, and follows no link. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW

/** @param folder of the daemon; @param at Unix milliseconds; @throws NodeJS.ErrnoException */
export const noteBackup = (folder: string, at: number): Promise<void> =>
  writeOnce(join(folder, fileName), `${new Date(at).toISOString()}\n`)

/** @returns Unix milliseconds; undefined if no backup was noted, or the file cannot be read */
export function readLastBackup(folder: string): number | undefined {
  let file: number | undefined
  try {
    file = openSync(join(folder, fileName), flags)
    const content = Buffer.alloc(maxBytes)
    const time = Date.parse(content.toString('latin1', 0, readSync(file, content, 0, maxBytes, 0)).trim())
    return Number.isNaN(time) ? undefined : time
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
