import { describe, expect, it } from 'vitest'
import type { MapPlace } from '../../state/use-places.ts'
import { type Box, clusterFleet } from './clusters.ts'
import { fleetOf, latitudeOf, longitudeOf, mercatorY, type State } from './fleet.ts'

const world: Box = { left: 0, top: 0, right: 1, bottom: 1 }
const nowMs = Date.parse('2026-05-01T12:00:00Z')
const placeOf = (nodeId: string, x: number, y: number, onlineUntil = nowMs / 1000): MapPlace => ({
  nodeId,
  longitude: longitudeOf(x),
  latitude: latitudeOf(y),
  onlineUntil,
})
const cluster = (points: readonly (readonly [number, number])[], radius = 0.1, box = world) =>
  clusterFleet(
    fleetOf(
      points.map(([x, y], index) => placeOf(String(index), x, y)),
      new Map(),
      nowMs,
    ),
    box,
    radius,
  )
/** What matters of a cluster: without rounding errors of the projection. */
const briefly = (clusters: ReturnType<typeof cluster>) =>
  clusters
    .map(({ x, y, count }) => [Math.round(x * 1e6) / 1e6 + 0, Math.round(y * 1e6) / 1e6, count])
    .toSorted(([one = 0], [other = 0]) => one - other)

describe('devices on a map', () => {
  it('that are near each other are one mark, in the middle of them', () => {
    expect(
      briefly(
        cluster([
          [0.21, 0.21],
          [0.23, 0.25],
          [0.8, 0.8],
        ]),
      ),
    ).toEqual([
      [0.22, 0.23, 2],
      [0.8, 0.8, 1],
    ])
  })

  it('are one mark on both sides of an edge of the grid, too', () => {
    expect(
      briefly(
        cluster([
          [0.2499, 0.5],
          [0.2501, 0.5],
        ]),
      ),
    ).toEqual([[0.25, 0.5, 2]])
  })

  it('that are not seen have no mark', () => {
    const box = { left: 0.4, top: 0.4, right: 0.6, bottom: 0.6 }
    expect(
      cluster(
        [
          [0.3, 0.5],
          [0.7, 0.5],
          [0.5, 0.3],
          [0.5, 0.7],
        ],
        0.01,
        box,
      ),
    ).toEqual([])
    expect(cluster([[0.5, 0.5]], 0.01, box)).toHaveLength(1)
  })

  it('come apart as the map comes closer', () => {
    const two = [
      [0.5, 0.5],
      [0.52, 0.5],
    ] as const
    expect(cluster(two)).toHaveLength(1)
    expect(cluster(two, 0.01)).toHaveLength(2)
  })

  it('keep their marks while the map moves', () => {
    const points = Array.from(
      { length: 500 },
      (_, index) => [((index * 37) % 100) / 100, ((index * 61) % 100) / 100] as const,
    )
    const all = new Map(cluster(points).map((each) => [each.key, each.count]))
    const seen = { left: 0.31, top: 0.27, right: 0.78, bottom: 0.81 }
    const middle = cluster(points, 0.1, seen).filter(({ x, y }) => x > 0.5 && x < 0.6 && y > 0.5 && y < 0.6)
    expect(middle.length).toBeGreaterThan(0)
    for (const { key } of middle) expect(all.has(key)).toBe(true)
  })

  it('are shown in the copy of the world that is seen, across the date line', () => {
    const pacific = { left: 0.9, top: 0, right: 1.1, bottom: 1 }
    expect(
      briefly(
        cluster(
          [
            [0.98, 0.5],
            [0.02, 0.5],
          ],
          0.01,
          pacific,
        ),
      ),
    ).toEqual([
      [0.98, 0.5, 1],
      [1.02, 0.5, 1],
    ])
    const before = { left: -0.1, top: 0, right: 0.1, bottom: 1 }
    expect(
      briefly(
        cluster(
          [
            [0.98, 0.5],
            [0.02, 0.5],
          ],
          0.1,
          before,
        ),
      ),
    ).toEqual([[0, 0.5, 2]])
  })

  it('know how much of the world they take up', () => {
    const [one] = cluster([
      [0.5, 0.5],
      [0.52, 0.51],
      [0.51, 0.53],
    ])
    expect(one!.extent.left).toBeCloseTo(0.5)
    expect(one!.extent.right).toBeCloseTo(0.52)
    expect(one!.extent.bottom).toBeCloseTo(0.53)
  })

  it('are counted by state: as the page knows it, else by when they were heard', () => {
    const places = [
      placeOf('blocked', 0.5, 0.5),
      placeOf('online', 0.5, 0.5),
      placeOf('silent', 0.5, 0.5, nowMs / 1000 - 1),
    ]
    const known = new Map<string, State>([['blocked', 'blocked']])
    const [one] = clusterFleet(fleetOf(places, known, nowMs), world, 0.1)
    expect(one).toMatchObject({ count: 3, counts: [1, 1, 1] })
  })

  it('are all counted, however many', () => {
    const many = Array.from(
      { length: 100_000 },
      (_, index) => [(index % 1000) / 1000, ((index * 7) % 500) / 500] as const,
    )
    const found = cluster(many, 0.05)
    expect(found.length).toBeLessThan(900)
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(100_000)
  })

  it('at the poles are at the edge of the map', () => {
    expect(mercatorY(90)).toBeCloseTo(0, 3)
    expect(mercatorY(-90)).toBeCloseTo(1, 3)
    expect(latitudeOf(mercatorY(49.25))).toBeCloseTo(49.25)
  })
})
