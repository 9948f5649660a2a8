/** At which precision another party sees a location. */
import { expect, it } from 'vitest'
import { snap } from './precision.ts'

const place = { longitude: 13.4, latitude: 52.52 }
/** Metres of a degree of latitude. */
const degree = 111_195

it('nothing, or all of it, where that is what was agreed', () => {
  expect(snap('none', place)).toBeUndefined()
  expect(snap('exact', place)).toBe(place)
})

it.each([
  ['1km', 1000],
  ['city', 20_000],
] as const)('with "%s", the middle of a cell of %i m', (precision, size) => {
  const seen = snap(precision, place)!
  expect(seen).not.toEqual(place)
  expect(Math.abs(seen.latitude - place.latitude) * degree).toBeLessThanOrEqual(size / 2 + 1)
  // The same for every place in the cell.
  for (const by of [-0.4, 0.4]) {
    const other = { ...seen, latitude: seen.latitude + (by * size) / degree }
    expect(snap(precision, other)).toEqual(seen)
  }
  const next = snap(precision, { ...seen, latitude: seen.latitude + size / degree })!
  expect(next.latitude - seen.latitude).toBeCloseTo(180 / (precision === 'city' ? 1001 : 20_015), 6)
})
