/** A message of a client that is too long reaches no function, however it is cut into frames. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { limitMessages, maxMessageBytes } from './client-messages.ts'

const frame = (size: number, { opcode = 1, isFinal = true } = {}): Buffer =>
  Buffer.concat([Buffer.of((isFinal ? 0x80 : 0) | opcode, size), Buffer.alloc(size, 'x')])
const piece = (size: number) => frame(size, { opcode: 0, isFinal: false })
const last = (size: number) => frame(size, { opcode: 0 })
const ping = (size: number) => frame(size, { opcode: 9 })
const first = (size: number) => frame(size, { isFinal: false })

/** What comes out of a limit of 100 bytes, and how often it was called. */
async function pass(...chunks: readonly Buffer[]) {
  let calls = 0
  const stream = limitMessages(100, () => calls++)
  const out: Buffer[] = []
  stream.on('data', (chunk: Buffer) => out.push(chunk))
  for (const chunk of chunks) stream.write(chunk)
  stream.end()
  // It needs a few turns, and no time.
  for (let at = 0; at < 20 && !stream.readableEnded; at++) await turn()
  expect(stream.readableEnded).toBe(true)
  return { out: Buffer.concat(out), calls }
}

it.each([
  ['messages of the largest size', [frame(100), frame(100)]],
  ['a message in frames', [first(50), piece(25), last(25), frame(100)]],
  ['control frames between its pieces', [first(50), ping(100), ping(120), last(50)]],
  ['a close frame between its pieces', [first(60), frame(100, { opcode: 8 }), last(40)]],
  ['control frames alone', [ping(125), ping(125)]],
  ['a control frame that is final, in a message', [first(60), ping(1), last(40)]],
])('passes %s on', async (_, chunks) => {
  expect(await pass(...chunks)).toEqual({ out: Buffer.concat(chunks), calls: 0 })
})

it.each([
  ['in one frame', [frame(101)], 0],
  ['in two frames', [first(50), last(51)], 1],
  ['in many frames', [first(50), piece(50), piece(0), piece(1)], 3],
  ['around a control frame', [first(50), ping(1), last(51)], 2],
  ['after another one', [frame(100), frame(101)], 1],
  ['in the same bytes as another one', [Buffer.concat([frame(1), frame(101)])], 0],
])('passes nothing of a message that is too long %s on, and nothing after it', async (_, chunks, passed) => {
  const { out, calls } = await pass(...chunks, frame(1), frame(125))
  expect(out).toEqual(Buffer.concat(chunks.slice(0, passed)))
  expect(calls).toBe(1)
})

it('the limits are those that the documents state', () => {
  expect(maxMessageBytes).toEqual({ ofEvents: 65_536, ofFunctions: 16_777_216 })
})
