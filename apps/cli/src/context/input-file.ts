/** Files that a user names as input. They may be anything: a device that never ends, a folder, a file of gigabytes. */
import { closeSync, openSync, readSync } from 'node:fs'
import { UsageError } from '../failure.ts'

/**
 * Reads a text file, or standard input.
 *
 * @param path of the file; `-` for standard input
 * @param maxBytes bytes of the longest file that is accepted
 * @param hint what to do if it cannot be read
 * @throws UsageError if it cannot be read, or is longer
 */
export function readInputFile(path: string, maxBytes: number, hint: string): string {
  const shown = path === '-' ? 'standard input' : path
  let content: Buffer
  try {
    const file = path === '-' ? 0 : openSync(path, 'r')
    try {
      content = readAtMost(file, maxBytes + 1)
    } finally {
      if (file !== 0) closeSync(file)
    }
  } catch (cause) {
    throw new UsageError(`can't read ${shown}: ${(cause as Error).message}`, hint)
  }
  if (content.length <= maxBytes) return content.toString()
  throw new UsageError(`${shown} has more than ${maxBytes} bytes`, hint)
}

function readAtMost(file: number, maxBytes: number): Buffer {
  const content = Buffer.alloc(maxBytes)
  let length = 0
  while (length < maxBytes) {
    const read = readSync(file, content, length, maxBytes - length, null)
    if (read === 0) break
    length += read
  }
  return content.subarray(0, length)
}
