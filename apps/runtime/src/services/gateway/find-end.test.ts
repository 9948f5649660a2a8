import { expect, it } from 'vitest'
import { BrokenResponse } from './broken-response.ts'
import { findEnd } from './find-end.ts'

const find = (text: string) => findEnd(Buffer.from(text), Buffer.from('##'), 3, 'too long')

it.each([
  ['##', 0],
  ['abc##', 3],
  ['abc##d##', 3],
  ['##abcd', 0],
  ['', -1],
  ['abc', -1],
  ['abc#', -1],
  ['abcd', -1],
])('in %j the mark is at %i', (text, at) => {
  expect(find(text)).toBe(at)
})

it.each(['abcd#', 'abcd##', 'abc#d'])('%j is refused: the mark does not begin within 3 bytes', (text) => {
  expect(() => find(text)).toThrow(new BrokenResponse('too long'))
})
