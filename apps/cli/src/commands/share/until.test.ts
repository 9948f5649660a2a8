import { describe, expect, it } from 'vitest'
import { UsageError } from '../../failure.ts'
import { readUntil } from './until.ts'

const now = Date.parse('2026-02-27T12:00:00Z')

describe('the end of a share', () => {
  it.each([
    ['90m', '2026-02-27T13:30:00.000Z'],
    ['12h', '2026-02-28T00:00:00.000Z'],
    ['30d', '2026-03-29T12:00:00.000Z'],
    ['2w', '2026-03-13T12:00:00.000Z'],
    ['2026-02-28', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T18:00:00Z', '2026-03-01T18:00:00.000Z'],
    ['2026-03-01T18:00+02:00', '2026-03-01T16:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(readUntil(text, now)).toBe(expected)
  })

  it.each([
    '',
    'tomorrow',
    '0d',
    '-1d',
    '30s',
    '401d',
    '99999w',
    '1e9h',
    '2026-02-26T00:00:00Z',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-12-31T23:59:60Z',
    '2026-03-01T18:00:00',
    '2026-13-01',
    '9999-12-31',
    '+275760-09-13T00:00:00Z',
    '2026-03-01T24:00:01Z',
    `${'9'.repeat(10_000)}d`,
  ])('is refused as %j', (text) => {
    expect(() => readUntil(text, now)).toThrow(UsageError)
  })
})
