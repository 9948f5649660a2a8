/** What a function may say: only these messages, within these bounds. */
import { expect, it } from 'vitest'
import { parseMessage } from './control-message.ts'
import { ProtocolError } from './frames.ts'
import { maxItems, maxKeyBytes, maxTagBytes } from './storage-change.ts'

const read = (value: unknown) => parseMessage(Buffer.from(JSON.stringify(value)))

it.each([
  {
    set: [
      ['k', 'v'],
      ['k', 'v', 't'],
    ],
    ask: 0,
  },
  { set: Array(maxItems).fill(['k', 'v']), ask: 1 },
  { remove: Array(maxItems).fill('k'), ask: 1 },
  { setLong: 'x'.repeat(maxKeyBytes), ask: Number.MAX_SAFE_INTEGER },
  { setLong: 'k', tag: 'x'.repeat(maxTagBytes), ask: 1 },
  { identify: 'x'.repeat(512), ask: 1 },
  { pong: 1 },
  { listening: true },
  { ready: true },
  { ready: true, scheduled: true },
  { ran: 1, failed: 'no' },
  { broken: 'why' },
])('%j is a message', (message) => expect(read(message)).toEqual(message))

it.each([
  { set: Array(maxItems + 1).fill(['k', 'v']), ask: 1 },
  { set: [['k']], ask: 1 },
  { set: [['x'.repeat(maxKeyBytes + 1), 'v']], ask: 1 },
  { set: [['k', 'v', 'x'.repeat(maxTagBytes + 1)]], ask: 1 },
  { remove: Array(maxItems + 1).fill('k'), ask: 1 },
  { setLong: 'k', ask: 1, more: 1 },
  { identify: 'x'.repeat(513), ask: 1 },
  { pong: -1 },
  { pong: 0.5 },
  { pong: 2 ** 53 },
  { listening: false },
  { ready: true, scheduled: false },
  { ran: 1, more: 1 },
  null,
  7,
])('%j is refused', (message) => expect(() => read(message)).toThrow(ProtocolError))

it('a refusal names at most three members, and a part of them', () => {
  expect(() => read({ a: 1, b: 2, c: 3, d: 4 })).toThrow('an unknown or malformed message (a, b, c)')
  expect(() => read({ ['x'.repeat(200)]: 1 })).toThrow(`(${'x'.repeat(100)})`)
  expect(() => read(7)).toThrow('an unknown or malformed message ()')
  expect(() => parseMessage(Buffer.from('{'))).toThrow('a message that is not JSON')
})

it('a message is the part of its buffer', () => {
  const bytes = Buffer.from('xx{"pong":1}yy')
  expect(parseMessage(bytes.subarray(2, -2))).toEqual({ pong: 1 })
})
