import { expect, it } from 'vitest'
import { Refusal, Trap } from './failure.ts'
import { Fields, maxFieldBytes, maxFields } from './fields.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const errorOf = (run: () => unknown): unknown => {
  try {
    run()
  } catch (cause) {
    return cause instanceof Refusal ? cause.payload : cause
  }
  return 'no error'
}

it.each([
  ['a line break in a value', 'x-a', 'a\r\nb: c', 'invalid-syntax'],
  ['a zero byte in a value', 'x-a', 'a\0', 'invalid-syntax'],
  ['a space in a name', 'x a', 'b', 'invalid-syntax'],
  ['an empty name', '', 'b', 'invalid-syntax'],
  ['a header of the connection', 'Transfer-Encoding', 'chunked', 'forbidden'],
  ['the host', 'host', 'a', 'forbidden'],
  ['a header of the runtime', 'X-Selvedge-Target', 'a', 'forbidden'],
])('refuses %s', (_, name, value, tag) => {
  expect(errorOf(() => new Fields().append(name, bytes(value)))).toEqual({ tag })
  expect(errorOf(() => new Fields().set(name, [bytes(value)]))).toEqual({ tag })
  expect(errorOf(() => Fields.fromList([[name, bytes(value)]]))).toEqual({ tag })
})

it('refuses changes of headers that were received, and allows those of a copy', () => {
  const received = Fields.received(new Headers({ a: 'b' }))
  expect(errorOf(() => received.append('c', bytes('d')))).toEqual({ tag: 'immutable' })
  const copy = received.clone()
  copy.set('a', [bytes('c')])
  expect([received.get('A'), copy.get('a')]).toEqual([[Buffer.from('b')], [bytes('c')]])
})

it('ends a request with fields that have too many bytes or entries', () => {
  expect(errorOf(() => new Fields().append('a', new Uint8Array(maxFieldBytes).fill(97)))).toBeInstanceOf(Trap)
  const fields = new Fields()
  for (let at = 0; at < maxFields; at++) fields.append('a', bytes('b'))
  expect(errorOf(() => fields.append('a', bytes('b')))).toBeInstanceOf(Trap)
})
