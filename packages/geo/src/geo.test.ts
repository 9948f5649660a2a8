import { describe, expect, it } from 'vitest'
import { fc } from '../../../tests/harness/properties.ts'
import { createCells } from './cells.ts'
import { isJump, isWorthSending, type Motion, predict } from './motion.ts'
import { snap } from './precision.ts'
import { destination, distanceBetween, earthRadius } from './sphere.ts'

const longitude = fc.oneof(
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.constantFrom(-180, 180, 0, 179.9999999),
)
const latitude = fc.oneof(
  fc.double({ min: -90, max: 90, noNaN: true }),
  fc.constantFrom(-90, 90, 0, 89.9999999),
)
const place = fc.record({ longitude, latitude })
const bearing = fc.double({ min: 0, max: 359.999, noNaN: true })
const between = (a: { longitude: number; latitude: number }, b: { longitude: number; latitude: number }) =>
  distanceBetween(a.longitude, a.latitude, b.longitude, b.latitude)

describe('the sphere', () => {
  it('has known distances', () => {
    expect(distanceBetween(0, 0, 180, 0)).toBeCloseTo(Math.PI * earthRadius, 3)
    expect(distanceBetween(0, -90, 77, 90)).toBeCloseTo(Math.PI * earthRadius, 3)
    expect(distanceBetween(179.5, 0, -179.5, 0)).toBeCloseTo(distanceBetween(0, 0, 1, 0), 6)
    // Berlin to Vancouver, as every table has it, on a sphere.
    expect(distanceBetween(13.405, 52.52, -123.12, 49.28) / 1000).toBeCloseTo(7977, -1)
    expect(distanceBetween(5, 5, 5, 5 + 1e-7)).toBeCloseTo(0.011, 3)
  })

  it('a step from a pole has its length', () => {
    for (const latitude of [-90, 90])
      expect(
        between({ longitude: 0, latitude }, destination({ longitude: 0, latitude }, 0, 0.05)),
      ).toBeCloseTo(0.05, 9)
  })

  it('a traveller is as far away as the distance travelled, from any start', () => {
    fc.assert(
      fc.property(place, bearing, fc.double({ min: 0, max: 1e6, noNaN: true }), (from, course, metres) => {
        const to = destination(from, course, metres)
        expect(Math.abs(between(from, to) - metres)).toBeLessThan(0.001)
        expect(Math.abs(to.latitude)).toBeLessThanOrEqual(90)
        expect(to.longitude >= -180 && to.longitude < 180).toBe(true)
      }),
    )
  })
})

describe.each([4, 720, 18_000])('cells of %d rows', (rows) => {
  const cells = createCells(rows)

  it('hold the middle that they have', () => {
    fc.assert(
      fc.property(place, ({ longitude: x, latitude: y }) => {
        const cell = cells.cellOf(x, y)
        const middle = cells.centreOf(cell)
        expect(cells.cellOf(middle.longitude, middle.latitude)).toBe(cell)
        expect(between(middle, { longitude: x, latitude: y })).toBeLessThan((earthRadius * Math.PI) / rows)
      }),
    )
  })

  it('the antimeridian is one meridian', () => {
    fc.assert(
      fc.property(latitude, (y) => {
        expect(cells.cellOf(180, y)).toBe(cells.cellOf(-180, y))
      }),
    )
  })

  it('a circle is covered: no place in it is in a cell that is not visited', () => {
    const reach = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(
        place,
        bearing,
        reach,
        fc.constantFrom(1, 600, 5000, 100_000),
        (centre, course, share, radius) => {
          const inside = destination(centre, course, radius * share)
          const visited = new Set<number>()
          cells.visit(centre, radius, (cell) => visited.add(cell))
          expect(visited.has(cells.cellOf(inside.longitude, inside.latitude))).toBe(true)
          expect(visited.size).toBeLessThanOrEqual(cells.countWithin(centre, radius))
        },
      ),
      { numRuns: rows > 1000 ? 200 : 1000 },
    )
  })
})

it('cells have exact borders: a place on one is in the eastern, northern cell', () => {
  const cells = createCells(18_000)
  const at = (x: number, y: number) => cells.cellOf(x, y)
  expect(at(0.0099999, 0)).toBe(at(0, 0))
  expect(at(0.01, 0)).not.toBe(at(0.0099999, 0))
  expect(at(0, 0.01)).not.toBe(at(0, 0.0099999))
  expect(at(-0.0000001, 0)).not.toBe(at(0, 0))
})

describe('precision', () => {
  it.each([
    ['1km', 800],
    ['city', 16_000],
  ] as const)(
    '%s gives the same place for every place of a cell, never farther away than half a diagonal',
    (precision, most) => {
      fc.assert(
        fc.property(place, (exact) => {
          const told = snap(precision, exact)!
          const again = snap(precision, told)!
          expect(again.longitude).toBeCloseTo(told.longitude, 9)
          expect(again.latitude).toBeCloseTo(told.latitude, 9)
          expect(between(exact, told)).toBeLessThan(most)
        }),
      )
    },
  )

  it('exact and none are what they say', () => {
    expect(snap('exact', { longitude: 1, latitude: 2 })).toEqual({ longitude: 1, latitude: 2 })
    expect(snap('none', { longitude: 1, latitude: 2 })).toBeUndefined()
  })
})

describe('motion', () => {
  const at = (more: Partial<Motion> = {}): Motion => ({
    longitude: 10,
    latitude: 50,
    speed: 0,
    bearing: 0,
    fixedAt: 0,
    ...more,
  })
  const limits = { maxError: 50, maxIntervalMs: 120_000 }

  it('continues as before', () => {
    const moving = at({ speed: 20, bearing: 90 })
    expect(between(moving, predict(moving, 60_000))).toBeCloseTo(1200, 1)
    expect(between(moving, predict(moving, -5))).toBeCloseTo(0, 6)
  })

  it('is worth telling where others are wrong by more than they may be, or have waited long enough', () => {
    expect(isWorthSending(undefined, at(), limits)).toBe(true)
    expect(isWorthSending(at(), at({ fixedAt: 119_999 }), limits)).toBe(false)
    expect(isWorthSending(at(), at({ fixedAt: 120_000 }), limits)).toBe(true)
    expect(isWorthSending(at(), at({ latitude: 50.0004, fixedAt: 1000 }), limits)).toBe(false)
    expect(isWorthSending(at(), at({ latitude: 50.0005, fixedAt: 1000 }), limits)).toBe(true)
    const driving = at({ speed: 30, bearing: 0 })
    const onCourse = { ...at(), ...destination(driving, 0, 900), fixedAt: 30_000 }
    expect(isWorthSending(driving, onCourse, limits)).toBe(false)
    expect(isWorthSending(driving, at({ fixedAt: 30_000 }), limits)).toBe(true)
  })

  it('has a limit that nothing passes', () => {
    expect(isJump(at(), at({ latitude: 50.03, fixedAt: 10_000 }))).toBe(false)
    expect(isJump(at(), at({ latitude: 50.04, fixedAt: 10_000 }))).toBe(true)
    expect(isJump(at(), at({ latitude: 50.001, fixedAt: 0 }))).toBe(false)
    expect(isJump(at({ longitude: 180 }), at({ longitude: -180, fixedAt: 1 }))).toBe(false)
  })
})
