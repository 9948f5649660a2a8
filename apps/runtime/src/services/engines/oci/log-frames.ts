/** Splits the log stream of the Docker Engine API into the output of a container: frames of `[stream, 0, 0, 0, size (4 bytes)]` and bytes. */

import { readLines } from '@selvedge/protocol/lines'
import type { Plan } from '../engine.ts'
import { logLines } from '../log-lines.ts'

const headerSize = 8

/** Bytes are passed on as they come: a frame that claims to be large uses no memory. */
export function createFrameReader(
  take: (stream: 'stdout' | 'stderr', bytes: Buffer) => void,
): (chunk: Buffer) => void {
  const header = Buffer.alloc(headerSize)
  let headerBytes = 0
  let left = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        const taken = chunk.copy(header, headerBytes, at, at + headerSize - headerBytes)
        at += taken
        headerBytes += taken
        if (headerBytes < headerSize) return
        headerBytes = 0
        left = header.readUInt32BE(4)
        continue
      }
      const bytes = chunk.subarray(at, at + left)
      take(header[0] === 2 ? 'stderr' : 'stdout', bytes)
      left -= bytes.length
      at += bytes.length
    }
  }
}

/**
 * Reads frames to their end as lines of a log. What either stream wrote after its last newline is its last line.
 *
 * @param read reads the stream to its end, and gives its bytes to `take`
 * @throws what `read` throws, after the last lines
 */
export const readFrames = (
  log: Plan['log'],
  read: (take: (chunk: Buffer) => void) => Promise<void>,
): Promise<void> =>
  readLines(
    logLines,
    (line) => log('stdout', line),
    (stdout) =>
      readLines(
        logLines,
        (line) => log('stderr', line),
        (stderr) =>
          read(createFrameReader((stream, bytes) => (stream === 'stdout' ? stdout : stderr)(bytes))),
      ),
  )
