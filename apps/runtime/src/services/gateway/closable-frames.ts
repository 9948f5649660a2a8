/** WebSocket frames on their way to a client, so that a frame of the gateway can follow a whole one (RFC 6455 § 5.2). */
import { Transform } from 'node:stream'
import { createFrameWalker } from './frame-walker.ts'

/** A caller may not go on: the closest status is "policy violation" (RFC 6455 § 7.4.1). */
const policyViolation = 1008
/** Bytes of the reason in a close frame. */
const maxReason = 123

export interface ClosableFrames {
  readonly stream: Transform
  /** Ends the stream with a close frame, after the frame that is on its way. */
  close(reason: string): void
}

export function createClosableFrames(): ClosableFrames {
  const { isBetweenFrames, walk } = createFrameWalker()
  let closing: Buffer | undefined
  let isClosed = false

  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      if (!closing) {
        walk(chunk, false)
        done(null, chunk)
        return
      }
      // Bytes after the close frame are dropped.
      if (!isClosed) {
        stream.push(chunk.subarray(0, walk(chunk, true)))
        closeBetweenFrames()
      }
      done()
    },
  })

  function closeBetweenFrames(): void {
    if (isClosed || !closing || !isBetweenFrames()) return
    isClosed = true
    stream.push(closing)
    stream.push(null)
  }

  return {
    stream,
    close(reason) {
      closing ??= closeFrame(reason)
      closeBetweenFrames()
    },
  }
}

function closeFrame(reason: string): Buffer {
  const text = Buffer.from(reason.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxReason))
  return Buffer.concat([
    Buffer.from([0x88, 2 + text.length, policyViolation >> 8, policyViolation & 0xff]),
    text,
  ])
}
