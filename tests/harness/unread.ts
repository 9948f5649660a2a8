/** Streams with a reader that never reads. */
import type { Socket } from 'node:net'

/**
 * Options of a test that opens a stream with a reader that never reads: the source files that write to the stream.
 * `tests/rules/streams.test.ts` requires a test for every such file.
 */
export const opens = (...paths: readonly string[]) => ({ meta: { opens: paths } as object })

/** More bytes than any stream may hold for a reader that never reads. */
const much = 256 * 1024 * 1024
const piece = Buffer.alloc(64 * 1024, 'x')

/** Much content: the same piece again and again. It counts how many bytes of it were read. */
export function countedSource({ first, each = piece }: { first?: Buffer; each?: Buffer } = {}) {
  const source = {
    read: 0,
    async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
      if (first) yield first
      while (source.read < much) {
        source.read += each.length
        yield each
      }
    },
  }
  return source
}

/** Writes much, as fast as the other end accepts it. @returns bytes that were accepted when no more were for a while */
export async function writeUntilFull(socket: Socket): Promise<number> {
  let written = 0
  const fill = () => {
    while (!socket.destroyed && written < much) {
      written += piece.length
      if (!socket.write(piece)) return
    }
  }
  socket.on('drain', fill)
  fill()
  for (let last = -1; last !== written; ) {
    last = written
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  return written - socket.writableLength
}

/** Resolves after so many turns of the event loop that whatever nothing holds back has happened. */
export async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve))
}
