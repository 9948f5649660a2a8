import { expect, it } from 'vitest'
import { isoTime, seconds, systemClock } from './clock.ts'

it.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [1_767_225_600_000, '2026-01-01T00:00:00.000Z'],
  [8.64e15 + 1, '9999-12-31T23:59:59.999Z'],
  [2 ** 53, '9999-12-31T23:59:59.999Z'],
  [Number.POSITIVE_INFINITY, '9999-12-31T23:59:59.999Z'],
  [Number.NEGATIVE_INFINITY, '0001-01-01T00:00:00.000Z'],
  [Number.NaN, '1970-01-01T00:00:00.000Z'],
])('shows %s as %s', (milliseconds, shown) => {
  expect(isoTime(milliseconds)).toBe(shown)
})

it('counts whole seconds since 1970, of the time of the machine', () => {
  expect(seconds({ now: () => 1999 })).toBe(1)
  const before = Date.now()
  expect(systemClock.now()).toBeGreaterThanOrEqual(before)
})
