import type { Writable } from 'node:stream'
import { safely } from '../safely/safely.ts'

export interface BoundedWriterOptions {
  /** Bytes that may wait for the reader, beyond what the stream itself buffers. */
  readonly maxBytes: number
  /** The text that replaces dropped pieces. @param count how many were dropped since it was last written */
  readonly onDropped: (count: number) => string
}

/**
 * Writes pieces of text to a stream with a reader that may be slow or never read: a bounded number of bytes waits. Beyond it the
 * oldest pieces are dropped, and the reader gets to know how many.
 *
 * @returns writes one piece, such as a line with its line feed
 */
export function createBoundedWriter(
  stream: Writable,
  { maxBytes, onDropped }: BoundedWriterOptions,
): (text: string) => void {
  /** Pieces that wait, from `first` on; what is before was written or dropped. */
  let waiting: (Buffer | undefined)[] = []
  let first = 0
  let bytes = 0
  let dropped = 0
  let isFull = false

  function takeFirst(): Buffer {
    const piece = waiting[first]!
    bytes -= piece.length
    // Let go at once: what was dropped would fill the memory until the list is moved down.
    waiting[first++] = undefined
    // Moved down now and then, not with each piece.
    if (first > 1000 && first * 2 > waiting.length) {
      waiting = waiting.slice(first)
      first = 0
    }
    return piece
  }

  function flush(): void {
    isFull = false
    if (stream.destroyed || stream.writableEnded) return
    if (dropped > 0) {
      const notice = onDropped(dropped)
      dropped = 0
      isFull = !stream.write(notice)
    }
    while (!isFull && first < waiting.length) isFull = !stream.write(takeFirst())
  }

  stream.on(
    'drain',
    safely('http.drain', flush, () => stream.destroy()),
  )
  return (text) => {
    if (stream.destroyed || stream.writableEnded) return
    const piece = Buffer.from(text)
    waiting.push(piece)
    bytes += piece.length
    if (!isFull) flush()
    while (bytes > maxBytes) {
      takeFirst()
      dropped++
    }
  }
}
