import { setTimeout as sleep } from 'node:timers/promises'

/** Bytes that are handled at once: up to as many lines. */
const pieceBytes = 4096
/** Milliseconds of work after which a pause is due, and how many times as long as the work it is. */
const workMs = 1
const pauses = 19

/**
 * Reads what a container writes, with at most about a twentieth of the CPU time: an empty line costs its writer one
 * byte, and the runtime much more. Meanwhile the stream is not read, so that who writes too much waits.
 *
 * @param read gets the bytes in pieces of at most 4,096
 * @throws what the stream ends with
 */
export async function readPaced(
  stream: AsyncIterable<Uint8Array>,
  read: (bytes: Buffer) => void,
): Promise<void> {
  let worked = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const start = performance.now()
      read(bytes.subarray(at, at + pieceBytes))
      worked += performance.now() - start
      if (worked < workMs) continue
      await sleep(worked * pauses)
      worked = 0
    }
  }
}
