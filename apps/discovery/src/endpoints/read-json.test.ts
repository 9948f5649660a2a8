/** What is read of a request, and how much of a list is sent. */
import { expect, it } from 'vitest'
import * as z from 'zod'
import { firstWithin, maxListBytes } from './bounded-list.ts'
import { readJson } from './read-json.ts'
import { readQuery } from './read-query.ts'

it('a body is JSON of at most five levels, read strictly', () => {
  expect(readJson('{"a":[1]}')).toEqual({ a: [1] })
  expect(readJson('[[[[[]]]]]')).toEqual([[[[[]]]]])
  for (const text of ['', '{', '[[[[[[]]]]]]', '{"a":1,"a":2}', '1 2'])
    expect(() => readJson(text), text).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(/^the body is not JSON: ./),
        cause: expect.any(Error),
      }),
    )
})

it('a query has its form, or the parameter that has another one is named', () => {
  const query = z.strictObject({ limit: z.coerce.number().max(5, 'at most 5') })
  expect(readQuery(query, { limit: '5' })).toEqual({ limit: 5 })
  expect(() => readQuery(query, { limit: '6' })).toThrow(
    expect.objectContaining({ code: 'invalid_request', message: '"limit": at most 5' }),
  )
  expect(() => readQuery(query, { limit: 1, more: 2 })).toThrow(/^"cluster": /)
  expect(() => readQuery(z.object({ box: z.object({ west: z.number('a number') }) }), { box: {} })).toThrow(
    '"box.west": a number',
  )
})

it('a list has the first entries that have room in so many bytes, and the first one in any case', () => {
  // Two brackets, and a comma after each entry of seven bytes.
  const entries = ['aaaaa', 'bbbbb', 'ccccc']
  expect(firstWithin(2 + 3 * 8, entries)).toEqual(entries)
  expect(firstWithin(2 + 3 * 8 - 1, entries)).toEqual(['aaaaa', 'bbbbb'])
  expect(firstWithin(2 + 2 * 8, entries)).toEqual(['aaaaa', 'bbbbb'])
  expect(firstWithin(2 + 2 * 8 - 1, entries)).toEqual(['aaaaa'])
  expect(firstWithin(0, entries)).toEqual(['aaaaa'])
  expect(firstWithin(100, [])).toEqual([])
  // Bytes, and not characters.
  expect(firstWithin(2 + 2 * 5, ['ä', 'ö', 'ü'])).toEqual(['ä', 'ö'])
  expect(maxListBytes).toBe(262_144)
})
