/** Files that a user names as input. They may be anything: a device that never ends, a folder, a file of gigabytes. */

import { closeSync, openSync, readSync } from 'node:fs'
import { isatty } from 'node:tty'
import { reasonOf, UsageError } from '../failure.ts'

/**
 * Reads a text file, or standard input.
 *
 * @param path of the file; `-` for standard input
 * @param maxBytes bytes of the longest file that is accepted
 * @param hint what to do if it cannot be read
 * @throws UsageError if it cannot be read, or is longer
 */
export const readInputFile = (path: string, maxBytes: number, hint: string): string =>
  readInputBytes(path, maxBytes, hint).toString()

/** The same for content that need not be text. */
export function readInputBytes(path: string, maxBytes: number, hint: string): Buffer {
  const shown = path === '-' ? 'standard input' : path
  // What is typed there would be on the screen, and in the scroll-back buffer of the terminal.
  if (path === '-' && isatty(0))
    throw new UsageError('standard input is a terminal', 'Name a file, or pipe the content: … | selvedge …')
  let content: Buffer
  try {
    const file = path === '-' ? 0 : openSync(path, 'r')
    try {
      content = readAtMost(file, maxBytes + 1)
    } finally {
      if (file !== 0) closeSync(file)
    }
  } catch (cause) {
    throw new UsageError(`can't read ${shown}: ${reasonOf(cause)}`, hint)
  }
  if (content.length <= maxBytes) return content
  throw new UsageError(`${shown} has more than ${maxBytes} bytes`, hint)
}

function readAtMost(file: number, maxBytes: number): Buffer {
  const content = Buffer.alloc(maxBytes)
  let length = 0
  while (length < maxBytes) {
    const read = readPart(file, content, length)
    if (read === 0) break
    length += read
  }
  return content.subarray(0, length)
}

/** A pipe without data yet is not at its end: Node opens that of standard input without blocking. */
function readPart(file: number, content: Buffer, at: number): number {
  for (;;)
    try {
      return readSync(file, content, at, content.length - at, null)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EAGAIN') throw cause
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollIntervalMs)
    }
}

const pollIntervalMs = 20
