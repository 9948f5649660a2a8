import type { Transform } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
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
/** What comes out of a stream that was given everything: it needs a few turns, and no time. */
async function outOf(stream: Transform): Promise<Buffer> {
  for (let at = 0; at < 20 && !stream.readableEnded; at++) {
    stream.resume()
    await turn()
  }
  expect(stream.readableEnded).toBe(true)
  return Buffer.concat(received.get(stream)!)
}
const received = new WeakMap<Transform, Buffer[]>()
function open() {
  const frames = createClosableFrames()
  const out: Buffer[] = []
  received.set(frames.stream, out)
  frames.stream.on('data', (chunk: Buffer) => out.push(chunk))
  return frames
}

async function pass(all: Buffer, size: number, closeAfter: number): Promise<Buffer> {
  const { stream, close } = open()
  for (let at = 0; at < all.length; at += size) {
    if (at >= closeAfter) close('token_expired')
    stream.write(all.subarray(at, at + size))
  }
  close('token_expired')
  return outOf(stream)
}

it.each([
  [1, [0, 1, 125, 126]],
  [7, [0, 1, 125, 126]],
  [4096, [0, 1, 125, 126, 65_535, 65_536]],
  [1_000_000, [0, 1, 125, 126, 65_535, 65_536]],
])('ends after a whole frame, whatever the pieces: %i bytes', async (size, sizes) => {
  const frames = sizes.map(frame)
  const all = Buffer.concat(frames)
  const ends = frames.map((_, at) => Buffer.concat(frames.slice(0, at + 1)).length)
  for (const closeAfter of [0, 1, 3, 130, 300, 70_000, all.length]) {
    const out = await pass(all, size, closeAfter)
    const at = out.lastIndexOf(Buffer.from([0x88, 15, 0x03, 0xf0]))
    expect(out.subarray(at + 4).toString()).toBe('token_expired')
    expect([0, ...ends]).toContain(at)
    expect(out.subarray(0, at).equals(all.subarray(0, at))).toBe(true)
  }
})

it('closes after the frame that is on its way, also where the next one comes with its end', async () => {
  const { stream, close } = open()
  const [one, two] = [frame(4), frame(5)]
  stream.write(one.subarray(0, 3))
  close('x')
  stream.write(Buffer.concat([one.subarray(3), two]))
  expect((await outOf(stream)).equals(Buffer.concat([one, Buffer.from('\x88\x03\x03\xf0x', 'latin1')]))).toBe(
    true,
  )
})

it('closes once, and drops what comes after it', async () => {
  const { stream, close } = open()
  stream.write(frame(1))
  close('first')
  close('second')
  stream.write(frame(1))
  const out = await outOf(stream)
  expect(out.toString('latin1')).toBe('\x81\x01x\x88\x07\x03\xf0first')
})

it('shows a reason of at most 123 characters, all of which every client can read', async () => {
  const reasonOf = async (reason: string) => {
    const { stream, close } = createClosableFrames()
    close(reason)
    const [head, ...text] = stream.read() as Buffer
    return [head, text[0], Buffer.from(text.slice(3)).toString()]
  }
  expect(await reasonOf('a ~\n\x7fé')).toEqual([0x88, 8, 'a ~???'])
  expect(await reasonOf('x'.repeat(200))).toEqual([0x88, 125, 'x'.repeat(123)])
})
