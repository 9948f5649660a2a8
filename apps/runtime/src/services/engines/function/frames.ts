/**
 * The frames of the control line between the runtime and the program that hosts a function: four bytes of length (big endian),
 * one byte of kind, the payload. Both ends use this file, so it needs nothing but JavaScript itself.
 */

/** Payload bytes that the runtime accepts in one frame of a function. */
export const maxPayload = 256 * 1024

const headerBytes = 5
const kinds = { message: 0, bytes: 1, source: 2 } as const
const names = ['message', 'bytes', 'source'] as const

export interface Frame {
  /** A JSON message, bytes that belong to the next message, or a part of a function's source. */
  readonly kind: keyof typeof kinds
  readonly payload: Uint8Array
}

/** The peer sent something that the protocol does not allow; the message names it. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

// Stored before the code of a function runs: that may replace the members of the prototype.
const uncurryThis = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
  method: (this: T, ...args: A) => R,
) => (self: T, ...args: A) => R
export const setBytes: (target: Uint8Array, source: Uint8Array, offset: number) => void = uncurryThis(
  Uint8Array.prototype.set,
)
export const subarray: (bytes: Uint8Array, start: number, end: number) => Uint8Array = uncurryThis(
  Uint8Array.prototype.subarray,
)
const OwnBytes = Uint8Array

/** One frame as it is sent. */
export function encodeFrame(kind: Frame['kind'], payload: Uint8Array): Uint8Array {
  const frame = new OwnBytes(headerBytes + payload.length)
  for (let at = 0; at < 4; at++) frame[at] = payload.length >>> (24 - 8 * at)
  frame[4] = kinds[kind]
  setBytes(frame, payload, headerBytes)
  return frame
}

/**
 * Splits a stream of bytes into frames. Every byte is copied once, however the stream is cut.
 *
 * @param limit payload bytes of one frame
 * @returns a function that gets the next bytes and returns the frames that they complete. @throws ProtocolError
 */
export function createFrameReader(limit: number): (chunk: Uint8Array) => Frame[] {
  const header = new OwnBytes(headerBytes)
  let payload: Uint8Array | undefined
  /** Bytes of the header, or of the payload once there is one. */
  let filled = 0

  function open(): Uint8Array {
    const length = header[0]! * 2 ** 24 + header[1]! * 2 ** 16 + header[2]! * 2 ** 8 + header[3]!
    if (header[4]! > kinds.source) throw new ProtocolError(`a frame of the unknown kind ${header[4]}`)
    if (length > limit) throw new ProtocolError(`a frame of ${length} bytes; the limit is ${limit}`)
    filled = 0
    return new OwnBytes(length)
  }

  return (chunk) => {
    const frames: Frame[] = []
    for (let at = 0; at < chunk.length || payload?.length === filled; ) {
      const target: Uint8Array = payload ?? header
      const count = min(target.length - filled, chunk.length - at)
      setBytes(target, subarray(chunk, at, at + count), filled)
      at += count
      filled += count
      if (filled < target.length) break
      if (!payload) payload = open()
      else {
        frames[frames.length] = { kind: names[header[4]!]!, payload }
        payload = undefined
        filled = 0
      }
    }
    return frames
  }
}

const { min } = Math
