import { describe, expect, it } from 'vitest'
import { clusterPoints, type Point } from './clusters.ts'

const box = { x: 0, y: 0, width: 100, height: 50 }
const cluster = (points: readonly Point[], size = 10, seen = box) =>
  clusterPoints(points, (point) => point, seen, size)

describe('points on a map', () => {
  it('that lie in one cell are one, in the middle of them', () => {
    expect(
      cluster([
        { x: 1, y: 1 },
        { x: 3, y: 5 },
        { x: 55, y: 41 },
      ]),
    ).toEqual([
      { x: 2, y: 3, count: 2, first: { x: 1, y: 1 } },
      { x: 55, y: 41, count: 1, first: { x: 55, y: 41 } },
    ])
  })

  it('that are not seen are not there', () => {
    expect(
      cluster([
        { x: -1, y: 1 },
        { x: 1, y: 51 },
        { x: 101, y: 1 },
      ]),
    ).toEqual([])
  })

  it('are separated by zooming in', () => {
    const two = [
      { x: 1, y: 1 },
      { x: 3, y: 1 },
    ]
    expect(cluster(two)).toHaveLength(1)
    expect(cluster(two, 1)).toHaveLength(2)
  })

  it('are all counted, however many', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => ({ x: index % 100, y: (index * 7) % 50 }))
    const found = cluster(many)
    expect(found.length).toBeLessThanOrEqual(55)
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(100_000)
  })
})
