import { methods, nodeOptions, RpcError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { decimal, oneOf, readQuery, time } from './query.ts'

const parameters = {
  follow: oneOf(['true', 'false']),
  since: time,
  part: decimal(z.number(), 'a number'),
  limit: decimal(nodeOptions.shape.limit.unwrap(), 'a whole number from 1'),
}
const read = (query: string) => readQuery(new URLSearchParams(query), parameters)
const refusal = (query: string): string => {
  try {
    read(query)
  } catch (cause) {
    expect(cause).toBeInstanceOf(RpcError)
    expect((cause as RpcError).reason).toBe('invalid_params')
    return (cause as RpcError).message
  }
  throw new Error(`${query} was accepted`)
}

describe('query parameters', () => {
  it.each([
    ['', {}],
    ['follow=true', { follow: 'true' }],
    ['limit=7&follow=false', { limit: 7, follow: 'false' }],
    ['since=2026-01-31T12:00:00Z', { since: Date.UTC(2026, 0, 31, 12) }],
    ['since=2026-01-31', { since: Date.UTC(2026, 0, 31) }],
    ['limit=25', { limit: 25 }],
    ['part=123.456', { part: 123.456 }],
    ['since=2026-01-31T12:00', { since: new Date(2026, 0, 31, 12).getTime() }],
    ['since=2026-01-31T12:00Z', { since: Date.UTC(2026, 0, 31, 12) }],
    ['since=2026-01-31T12:00:00.123456789Z', { since: Date.UTC(2026, 0, 31, 12, 0, 0, 123) }],
    ['since=2026-01-31T12:00:00.5%2B01:00', { since: Date.UTC(2026, 0, 31, 11, 0, 0, 500) }],
  ])('%j are %j', (query, values) => {
    expect(read(query)).toEqual(values)
  })

  it.each([
    ['follow=1', 'the query parameter "follow" is "1"; expected "true" or "false"'],
    ['follow', 'the query parameter "follow" is ""; expected "true" or "false"'],
    ['limit=abc', 'the query parameter "limit" is "abc"; expected a whole number from 1'],
    ['since=1', 'the query parameter "since" is "1"; expected an ISO 8601 time such as 2026-01-31T12:00:00Z'],
    ['follow=true&follow=true', 'the query parameter "follow" is repeated; send it once'],
    ['tial=5', 'the query parameter "tial" is unknown; expected "follow", "since", "part", "limit"'],
    ['toString=5', 'the query parameter "toString" is unknown; expected "follow", "since", "part", "limit"'],
  ])('%j are refused with the value and what is expected', (query, message) => {
    expect(refusal(query)).toBe(message)
  })

  it.each(['', ' 5', '+5', '-5', '0x5', '5e0', '5.', '.5', 'NaN', 'Infinity', '0', '1.5', '1e9'])(
    'are no whole number: %j',
    (text) => {
      expect(refusal(`limit=${encodeURIComponent(text)}`)).toContain(JSON.stringify(text))
    },
  )

  it.each(['yesterday', '10m', '', '2026', '2026-13-01', '2026-01-31 12:00', 'Jan 31 2026', 'x2026-01-31'])(
    'are no time: %j',
    (text) => {
      expect(refusal(`since=${encodeURIComponent(text)}`)).toContain('ISO 8601')
    },
  )

  it('that are unknown are ignored by a route with this option', () => {
    expect(readQuery(new URLSearchParams('a=1&follow=true&a=2'), parameters, true)).toEqual({
      follow: 'true',
    })
  })

  it('are refused by a route without any', () => {
    expect(() => readQuery(new URLSearchParams('a=1'), {})).toThrow('expected no query parameters')
  })

  it('are shown up to 100 characters', () => {
    expect(refusal(`limit=${'9'.repeat(1000)}`)).toContain(`"${'9'.repeat(100)}";`)
  })
})

it('methods and REST routes accept the same values', () => {
  const { schema } = methods.getContainerLogs.params[2]
  expect(['1', '10000', '0', '10001', 'abc'].map((text) => schema.safeParse(text).success)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
