/** Reads files that the settings name, for each connection: they may be anything, and nothing may stop the program. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** @throws Error if it is no regular file (a pipe would stop the program), or has more than `maxBytes` bytes */
export function readSmallFile(path: string, maxBytes: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Error('it is no regular file')
    const content = Buffer.alloc(maxBytes + 1)
    let size = 0
    for (let read = 1; read > 0 && size < content.length; size += read)
      read = readSync(file, content, size, content.length - size, null)
    if (size > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return content.toString('utf8', 0, size)
  } finally {
    closeSync(file)
  }
}
