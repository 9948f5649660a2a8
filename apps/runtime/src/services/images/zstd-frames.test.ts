import { constants, createZstdCompress, gzipSync, zstdCompressSync } from 'node:zlib'
import { RpcError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { unpacked } from './tar-stream.ts'
import { framesOf } from './zstd-frames.ts'

const random = randomOf('zstd-frames')

const skippable = (content: Buffer, last = 0) => {
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0x184d2a50 + last)
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}

/** Without the size of its content, as a tool writes it that does not know it. */
async function streamed(content: Buffer): Promise<Buffer> {
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  compress.write(content.subarray(0, 10))
  compress.end(content.subarray(10))
  return Buffer.concat(await compress.toArray())
}

const words = Buffer.from('the quick brown fox '.repeat(20_000))
const noise = random.bytes(300_000)
const zeros = Buffer.alloc(1_000_000)

async function* inPieces(content: Buffer, bytes: number) {
  for (let at = 0; at < content.length; at += bytes) yield content.subarray(at, at + bytes)
}

async function unpack(content: Buffer, bytes = content.length): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of unpacked(inPieces(content, bytes), () => undefined)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('a zstd stream', () => {
  const checked = (content: Buffer) =>
    zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })

  it.each([
    ['one frame', async () => [words]],
    ['several frames', async () => [words, noise, zeros, Buffer.from('x')]],
    ['an empty frame between others', async () => [words, Buffer.alloc(0), noise]],
  ])('of %s is unpacked whole, in chunks of any size', async (_, make) => {
    const contents = await make()
    const whole = Buffer.concat(contents)
    const streams = await Promise.all(contents.map(streamed))
    for (const frames of [contents.map((each) => zstdCompressSync(each)), contents.map(checked), streams]) {
      const packed = Buffer.concat(frames)
      for (const bytes of [packed.length, 65_536, 4096, 7, 1]) {
        if (packed.length / bytes > 100_000) continue
        expect((await unpack(packed, bytes)).equals(whole)).toBe(true)
      }
    }
  })

  it('may have skippable frames anywhere, as zstd:chunked has', async () => {
    const frames = [
      skippable(Buffer.alloc(0)),
      checked(words),
      skippable(noise, 15),
      skippable(Buffer.from('toc'), 7),
      zstdCompressSync(Buffer.from('end')),
      skippable(Buffer.alloc(64)),
    ]
    const packed = Buffer.concat(frames)
    for (const bytes of [packed.length, 1000, 3])
      expect((await unpack(packed, bytes)).equals(Buffer.concat([words, Buffer.from('end')]))).toBe(true)
  })

  it('is refused wherever it is cut short', async () => {
    const frames = [
      checked(Buffer.from('hello')),
      skippable(Buffer.from('abc')),
      checked(noise.subarray(0, 50)),
    ]
    const packed = Buffer.concat(frames)
    const ends = new Set(frames.map((_, at) => Buffer.concat(frames.slice(0, at + 1)).length))
    for (let length = 5; length < packed.length; length++) {
      const result = await unpack(packed.subarray(0, length), 3).catch((cause: unknown) => cause)
      expect(result instanceof RpcError, `${length} bytes`).toBe(!ends.has(length))
    }
  })

  it.each([
    ['a tar archive', Buffer.alloc(512)],
    ['gzip', gzipSync('x')],
    ['a block of the reserved type', Buffer.from('28b52ffd2000070000', 'hex')],
  ])('is refused if %s follows', async (_, rest) => {
    await expect(unpack(Buffer.concat([checked(words), rest]))).rejects.toMatchObject({
      reason: 'invalid_image',
    })
  })

  it.each([
    [25, true],
    [26, false],
    [27, false],
    [41, false],
  ])('with a window of 2^%i bytes is accepted: %s', async (log, isAccepted) => {
    const block = Buffer.from([(5 << 3) | 1, 0, 0])
    const frame = Buffer.concat([
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3]),
      block,
      Buffer.from('hello'),
    ])
    const result = await unpack(frame).catch(({ reason }: RpcError) => reason)
    expect(String(result)).toBe(isAccepted ? 'hello' : 'invalid_image')
  })

  it('has a limited number of frames', async () => {
    async function* many() {
      const frames = Buffer.concat(Array.from({ length: 10_000 }, () => skippable(Buffer.alloc(0))))
      for (let at = 0; at < 41; at++) yield frames
    }
    const read = async () => {
      for await (const _ of framesOf(many()));
    }
    await expect(read()).rejects.toThrow('more than 400000 frames')
  })
})

it('gzip with several members is unpacked whole, in chunks of any size', async () => {
  const packed = Buffer.concat([gzipSync(words), gzipSync(Buffer.alloc(0)), gzipSync('end')])
  for (const bytes of [packed.length, 100, 1])
    expect((await unpack(packed, bytes)).equals(Buffer.concat([words, Buffer.from('end')]))).toBe(true)
})

it.each(['', 'a', 'abc', 'abcd'])('what is not compressed passes unchanged: %j', async (text) => {
  expect((await unpack(Buffer.from(text), 1)).toString()).toBe(text)
})
