/** WebSocket frames on their way to a client, so that a frame of the gateway can follow a whole one (RFC 6455 § 5.2). */
import { Transform } from 'node:stream'

/** Bytes of a frame's head: two, the length where it is long, and the mask. */
const maxHead = 14
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
  const head = Buffer.alloc(maxHead)
  let headSize = 0
  /** Bytes of the frame that are to come. */
  let left = 0
  let closing: Buffer | undefined
  let isClosed = false

  const isBetweenFrames = () => left === 0 && headSize === 0

  /** Follows the frames of a chunk. @returns how much of it belongs to frames up to the end, or to the next boundary */
  function walk(chunk: Buffer, toBoundary: boolean): number {
    let at = 0
    while (at < chunk.length) {
      if (left > 0) {
        const taken = Math.min(left, chunk.length - at)
        left -= taken
        at += taken
      } else {
        head[headSize++] = chunk[at++]!
        const length = payloadLength(head, headSize)
        if (length === undefined) continue
        headSize = 0
        left = length
      }
      if (toBoundary && isBetweenFrames()) return at
    }
    return at
  }

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

/** Length of the payload, from the head of a frame; undefined while the head is not complete. */
function payloadLength(head: Buffer, size: number): number | undefined {
  if (size < 2) return undefined
  const short = head[1]! & 0x7f
  const mask = head[1]! & 0x80 ? 4 : 0
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0
  if (size < 2 + extended + mask) return undefined
  if (extended === 0) return short
  return extended === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2))
}

function closeFrame(reason: string): Buffer {
  const text = Buffer.from(reason.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxReason))
  return Buffer.concat([
    Buffer.from([0x88, 2 + text.length, policyViolation >> 8, policyViolation & 0xff]),
    text,
  ])
}
