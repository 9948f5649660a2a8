import { expect, it } from 'vitest'
import { readStartClaim } from './start.ts'

const id = 'aB3_-aB3_-aB3_-aB3_-aB'

it('a start has a random ID and counts its requests', () => {
  expect(readStartClaim({ id, count: 1 })).toEqual({ id, count: 1 })
  expect(readStartClaim({ id, count: 2 ** 53 - 1, more: 'x' })).toEqual({ id, count: 2 ** 53 - 1 })
})

it.each([
  ['nothing', undefined],
  ['a list', []],
  ['no count', { id }],
  ['the count 0', { id, count: 0 }],
  ['the count 2^53', { id, count: 2 ** 53 }],
  ['a fraction', { id, count: 1.5 }],
  ['an ID of 10 MB', { id: 'x'.repeat(10_000_000), count: 1 }],
  ['an ID with other characters', { id: `${id.slice(1)}"`, count: 1 }],
])('%s is no start', (_, claim) => {
  expect(readStartClaim(claim)).toBeUndefined()
})
