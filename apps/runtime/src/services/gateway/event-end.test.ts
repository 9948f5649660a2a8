/** A caller that lost its access gets the reason as an event, where an event may begin. */
import { RpcError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { createEventEnd } from './event-end.ts'

const cause = new RpcError('token_expired', 'it expired')
const expected = 'event: selvedge-end\ndata: {"reason":"token_expired","message":"it expired"}\n\n'
const events = ['content-type', 'text/event-stream']

function lastAfter(headers: readonly string[], ...parts: readonly string[]) {
  const end = createEventEnd()
  end.begin(headers)
  for (const part of parts) end.follow(Buffer.from(part))
  return end.lastEvent(cause)
}

it.each([
  ['before the first event', []],
  ['after an event', ['data: a\n\n']],
  ['after an event with the line ends of a protocol', ['data: a\r\n\r\n']],
  ['after an event with old line ends', ['data: a\r\r']],
  ['after an end in two parts', ['data: a\n', '\n']],
  ['after an end in four parts', ['data: a\r', '\n', '\r', '\n']],
  ['after a long event', [`data: ${'a'.repeat(10_000)}\n\n`]],
  ['after a part of the end alone', ['data: a', '', '\n\n']],
])('gives one %s', (_, parts) => expect(lastAfter(events, ...parts)).toBe(expected))

it.each([
  ['a line', ['data: a']],
  ['an event', ['data: a\n']],
  ['an event after another one', ['data: a\n\n', 'data: b']],
  ['an event with the line ends of a protocol', ['data: a\r\n\r']],
  ['an event after the end of another one', ['data: a\n\nx']],
])('gives nothing in the middle of %s', (_, parts) => expect(lastAfter(events, ...parts)).toBeUndefined())

it.each([
  [['Content-Type', 'TEXT/event-stream; charset=utf-8'], true],
  [['x', 'y', 'content-type', 'text/event-stream'], true],
  [['content-type', 'text/html'], false],
  [['content-type', 'application/text/event-stream'], false],
  [['x-type', 'text/event-stream'], false],
  [['x', 'content-type', 'text/event-stream', 'y'], false],
  [[], false],
])('an answer with %j has events: %s', (headers, hasEvents) => {
  expect(lastAfter(headers)).toBe(hasEvents ? expected : undefined)
})
