import { expect, it } from 'vitest'
import { fc } from '../../../../tests/harness/properties.ts'
import { fixReport } from './discovery.ts'
import { readFixes } from './read-fixes.ts'

const edges = (...values: number[]) =>
  fc.oneof(fc.double(), fc.constantFrom(...values), fc.constantFrom('1', null, undefined, true))
const almostFix = fc.record(
  {
    longitude: edges(-180, 180, 180.1, 0),
    latitude: edges(-90, 90, -90.1),
    speed: edges(0, -1, 3),
    bearing: edges(0, 360, 359.9),
    fixedAt: edges(0, 1, 1.5, 8.64e15, 8.64e15 + 1, 2 ** 53, -1),
    accuracy: edges(0, 5, -1),
    source: fc.constantFrom('api', 'gpsd', 'nmea', 'guess', 1),
    other: fc.constant(1),
  },
  { requiredKeys: [] },
)
const goodFix = fc.record(
  {
    longitude: fc.double({ min: -180, max: 180, noNaN: true }),
    latitude: fc.double({ min: -90, max: 90, noNaN: true }),
    speed: fc.double({ min: 0, max: 1e6, noNaN: true }),
    bearing: fc.double({ min: 0, max: 360, maxExcluded: true, noNaN: true }),
    fixedAt: fc.nat(),
    accuracy: fc.double({ min: 0, max: 1e6, noNaN: true }),
    source: fc.constantFrom('api', 'gpsd', 'nmea'),
  },
  { requiredKeys: ['longitude', 'latitude', 'speed', 'bearing', 'fixedAt'] },
)
/** A good fix with one member of another. */
const oneFault = fc
  .tuple(
    goodFix,
    almostFix,
    fc.constantFrom('longitude', 'latitude', 'speed', 'bearing', 'fixedAt', 'accuracy', 'source', 'other'),
  )
  .map(([good, other, name]) => (other[name] === undefined ? good : { ...good, [name]: other[name] }))
/** As it comes out of a parser: JSON knows neither undefined nor NaN. */
const parsed = (value: unknown) => JSON.parse(JSON.stringify(value) ?? 'null') as unknown

it('accepts what the schema accepts, with the same result', () => {
  const some = fc.oneof(
    almostFix,
    goodFix,
    oneFault,
    fc.array(fc.oneof(goodFix, almostFix), { maxLength: 3 }),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(some, (value) => {
      const json = parsed(value)
      const schema = fixReport.safeParse(json)
      const expected = schema.success ? [schema.data].flat() : undefined
      expect(readFixes(json)).toEqual(expected)
    }),
    { numRuns: 3000 },
  )
  const [fix] = fc.sample(goodFix, 1)
  for (const length of [0, 100, 101]) {
    const many = parsed(Array(length).fill(fix))
    expect(readFixes(many)?.length).toBe(length > 100 ? undefined : length)
    expect(fixReport.safeParse(many).success).toBe(length <= 100)
  }
})
