/** Where log lines go: standard error, which may be a full disk, a closed pipe or a pipe that is never read. */
import type { Writable } from 'node:stream'

/** Bytes that may wait for a slow reader. Beyond it lines are dropped: a log must not fill the memory. */
const maxWaitingBytes = 64 * 1024

export interface LineWriter {
  /** Writes one line, given without its end. Never throws, never waits: a line that cannot be written is dropped. */
  write(line: string): void
  /** Lines that were dropped since the start. */
  dropped(): number
}

/**
 * @param recovered makes the line that reports how many lines were dropped; written when writing works again
 */
export function createLineWriter(stream: Writable, recovered: (dropped: number) => string): LineWriter {
  let dropped = 0
  let reported = 0
  const drop = () => void dropped++
  // The callback of each write learns of a failure as well; without a listener the stream would throw.
  stream.on('error', () => undefined)

  const attempt = (line: string, written: (error: unknown) => void) => {
    if (stream.destroyed || stream.writableLength > maxWaitingBytes) return drop()
    try {
      stream.write(`${line}\n`, written)
    } catch {
      drop()
    }
  }
  const report = () => {
    const upTo = dropped
    if (upTo === reported) return
    const before = reported
    reported = upTo
    attempt(recovered(upTo - before), (error) => {
      if (error) reported = before
    })
  }
  return {
    write: (line) => attempt(line, (error) => (error ? drop() : report())),
    dropped: () => dropped,
  }
}
