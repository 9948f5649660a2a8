/** Follows the frames of one direction of a WebSocket (RFC 6455 § 5.2), however its bytes are cut. */

/** Bytes of a frame's head: two, the length where it is long, and the mask. */
const maxHead = 14

interface FrameHead {
  /** From 8 on those of control frames, which may stand between the pieces of a message. */
  readonly opcode: number
  readonly isFinal: boolean
  /** Bytes of its payload, as the head declares them. */
  readonly length: number
}

export interface FrameWalker {
  isBetweenFrames(): boolean
  /** @returns how much of a chunk belongs to frames up to its end, or to the next boundary */
  walk(chunk: Buffer, toBoundary: boolean): number
}

/** @param onHead is called with each head, before its payload. What it throws comes out of `walk`. */
export function createFrameWalker(onHead: (head: FrameHead) => void = () => undefined): FrameWalker {
  const head = Buffer.alloc(maxHead)
  let headSize = 0
  /** Bytes of the frame that are to come. */
  let left = 0

  const isBetweenFrames = () => left === 0 && headSize === 0

  function readHead(byte: number): void {
    head[headSize++] = byte
    const length = payloadLength(head, headSize)
    if (length === undefined) return
    headSize = 0
    left = length
    onHead({ opcode: head[0]! & 0x0f, isFinal: (head[0]! & 0x80) !== 0, length })
  }

  return {
    isBetweenFrames,
    walk(chunk, toBoundary) {
      let at = 0
      while (at < chunk.length) {
        if (left > 0) {
          const taken = Math.min(left, chunk.length - at)
          left -= taken
          at += taken
        } else readHead(chunk[at++]!)
        if (toBoundary && isBetweenFrames()) return at
      }
      return at
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
