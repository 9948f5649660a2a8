import { describe, expect, it } from 'vitest'
import { checkImage } from './image-size.ts'

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  new Uint8Array(
    parts.flatMap((each) => (typeof each === 'string' ? [...Buffer.from(each, 'latin1')] : [...each])),
  )
const uint32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
const uint16 = (value: number) => [(value >>> 8) & 255, value & 255]

const png = (width: number, height: number) =>
  bytes([0x89], 'PNG\r\n\x1a\n', uint32(13), 'IHDR', uint32(width), uint32(height), [8, 6, 0, 0, 0])
const jpeg = (width: number, height: number) =>
  bytes(
    [0xff, 0xd8, 0xff, 0xe0],
    uint16(16),
    'JFIF\0',
    new Array(9).fill(0),
    [0xff, 0xc0],
    uint16(17),
    [8],
    uint16(height),
    uint16(width),
  )
const lossless = (width: number, height: number) => {
  const bits = (width - 1) | ((height - 1) << 14)
  return bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8L', [0, 0, 0, 0, 0x2f], uint32(bits).toReversed())
}
const extended = (width: number, height: number) => {
  const uint24 = (value: number) =>
    uint32(value - 1)
      .toReversed()
      .slice(0, 3)
  return bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8X', [10, 0, 0, 0, 0, 0, 0, 0], uint24(width), uint24(height))
}

describe('an image of a background', () => {
  it.each([
    ['PNG', png],
    ['JPEG', jpeg],
    ['lossless WebP', lossless],
    ['extended WebP', extended],
  ])('is decoded as %s of at most 4096 px', (_, image) => {
    expect(checkImage(image(256, 512))).toBe(true)
    expect(checkImage(image(4096, 4096))).toBe(true)
    expect(checkImage(image(4097, 1))).toBe(false)
    expect(checkImage(image(1, 4097))).toBe(false)
  })

  it.each([
    ['nothing', bytes()],
    ['one byte', bytes([0x89])],
    ['a PNG without a size', png(1, 1).slice(0, 18)],
    ['a PNG without pixels', png(0, 1)],
    ['a JPEG that ends', jpeg(1, 1).slice(0, 12)],
    ['a JPEG with a segment of no length', bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xe0, 0, 0])],
    ['a page', bytes('<!doctype html><script>alert(1)</script>')],
    ['an SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
    ['a GIF', bytes('GIF89a', [1, 0, 1, 0])],
  ])('is refused if it is %s', (_, image) => {
    expect(checkImage(image)).toBe(false)
  })
})
