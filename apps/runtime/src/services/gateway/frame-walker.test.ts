/** The frames of a WebSocket are followed by their declared lengths, however the bytes are cut. */
import { describe, expect, it } from 'vitest'
import { createFrameWalker } from './frame-walker.ts'

interface Frame {
  readonly opcode?: number
  readonly isFinal?: boolean
  readonly size: number
  readonly isMasked?: boolean
  /** How the length is written, in bytes; by default as short as it can be. */
  readonly lengthBytes?: 0 | 2 | 8
}

function bytesOf({ opcode = 1, isFinal = true, size, isMasked = false, lengthBytes }: Frame): Buffer {
  const extended = lengthBytes ?? (size < 126 ? 0 : size < 65_536 ? 2 : 8)
  const head = Buffer.alloc(2 + extended)
  head[0] = (isFinal ? 0x80 : 0) | opcode
  head[1] = (isMasked ? 0x80 : 0) | (extended === 0 ? size : extended === 2 ? 126 : 127)
  if (extended === 2) head.writeUInt16BE(size, 2)
  if (extended === 8) head.writeBigUInt64BE(BigInt(size), 2)
  // Each byte of the payload would be a head, if it were read as such.
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0, 0x81), Buffer.alloc(size, 0x81)])
}

const everyFrame: readonly Frame[] = [
  { size: 0 },
  { size: 1, isMasked: true },
  { size: 125, opcode: 9 },
  { size: 126, isFinal: false, opcode: 2 },
  { size: 0, isMasked: true, isFinal: false, opcode: 0 },
  { size: 65_535, isMasked: true, opcode: 0 },
  { size: 65_536, isMasked: true },
  { size: 65_536, opcode: 15 },
  { size: 3, lengthBytes: 2 },
  { size: 3, lengthBytes: 8, isMasked: true },
]

describe.each([1, 2, 3, 9, 1000, 1_000_000])('in pieces of %i bytes', (size) => {
  // One byte at a time, long frames would only take long.
  const frames = everyFrame.filter((each) => each.size < 200 || size >= 1000)
  const bytes = frames.map(bytesOf)
  const all = Buffer.concat(bytes)
  const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.subarray(at * size, (at + 1) * size),
  )

  it('each head is reported once, and all bytes belong to frames', () => {
    const heads: object[] = []
    const { walk, isBetweenFrames } = createFrameWalker((head) => heads.push(head))
    for (const piece of pieces) expect(walk(piece, false)).toBe(piece.length)
    expect(isBetweenFrames()).toBe(true)
    expect(heads).toEqual(
      frames.map(({ opcode = 1, isFinal = true, size: length }) => ({ opcode, isFinal, length })),
    )
  })

  it('a walk to the next boundary ends there', () => {
    const { walk, isBetweenFrames } = createFrameWalker()
    let passed = 0
    const ends: number[] = []
    for (const piece of pieces) {
      let rest = piece
      while (rest.length > 0) {
        const taken = walk(rest, true)
        passed += taken
        rest = rest.subarray(taken)
        if (isBetweenFrames()) ends.push(passed)
      }
    }
    expect(ends).toEqual(bytes.map((_, at) => Buffer.concat(bytes.slice(0, at + 1)).length))
  })
})

it('is between frames only at their ends', () => {
  const { walk, isBetweenFrames } = createFrameWalker()
  expect(isBetweenFrames()).toBe(true)
  const states: boolean[] = []
  for (const byte of bytesOf({ size: 2, isMasked: true })) {
    walk(Buffer.of(byte), false)
    states.push(isBetweenFrames())
  }
  expect(states).toEqual([false, false, false, false, false, false, false, true])
  expect(walk(Buffer.alloc(0), true)).toBe(0)
})

it('what a listener throws comes out of the walk', () => {
  const { walk } = createFrameWalker(() => {
    throw new Error('too long')
  })
  expect(() => walk(bytesOf({ size: 1 }), false)).toThrow('too long')
})
