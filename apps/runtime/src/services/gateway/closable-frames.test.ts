import { expect, it } from 'vitest'
import { createClosableFrames } from './closable-frames.ts'

const frame = (size: number): Buffer => {
  const payload = Buffer.alloc(size, 'x')
  if (size < 126) return Buffer.concat([Buffer.from([0x81, size]), payload])
  const head = Buffer.alloc(size < 65_536 ? 4 : 10)
  head[0] = 0x81
  head[1] = size < 65_536 ? 126 : 127
  if (size < 65_536) head.writeUInt16BE(size, 2)
  else head.writeBigUInt64BE(BigInt(size), 2)
  return Buffer.concat([head, payload])
}
const frames = [0, 1, 125, 126, 65_535, 65_536].map(frame)
const all = Buffer.concat(frames)
const ends = frames.map((_, at) => Buffer.concat(frames.slice(0, at + 1)).length)

async function pass(size: number, closeAfter: number): Promise<Buffer> {
  const { stream, close } = createClosableFrames()
  const out: Buffer[] = []
  stream.on('data', (chunk: Buffer) => out.push(chunk))
  const ended = new Promise((resolve) => stream.once('end', resolve))
  for (let at = 0; at < all.length; at += size) {
    if (at >= closeAfter) close('token_expired')
    stream.write(all.subarray(at, at + size))
  }
  close('token_expired')
  await ended
  return Buffer.concat(out)
}

it.each([1, 7, 4096, 1_000_000])('ends after a whole frame, whatever the pieces: %i bytes', async (size) => {
  for (const closeAfter of [0, 1, 3, 130, 300, 70_000, all.length]) {
    const out = await pass(size, closeAfter)
    const at = out.lastIndexOf(Buffer.from([0x88, 15, 0x03, 0xf0]))
    expect(out.subarray(at + 4).toString()).toBe('token_expired')
    expect([0, ...ends]).toContain(at)
    expect(out.subarray(0, at).equals(all.subarray(0, at))).toBe(true)
  }
})
