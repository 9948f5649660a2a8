/** Files that a person names and another user may replace: the command may not wait for one, or read one without an end. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Flags to open such a file: a pipe opens at once, and can then be refused. */
export const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK

/**
 * The start of a file: it may be longer than it seems.
 *
 * @throws Error if it is not a regular file
 */
export function readStart(path: string, bytes: number): string {
  const descriptor = openSync(path, withoutWaiting)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file')
    const buffer = Buffer.alloc(bytes)
    let read = 0
    for (let count = 1; count > 0; read += count)
      count = readSync(descriptor, buffer, read, bytes - read, null)
    return buffer.toString('utf8', 0, read)
  } finally {
    closeSync(descriptor)
  }
}
