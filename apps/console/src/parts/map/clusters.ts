/** Many points as few: those that would lie on each other on the screen are shown as one, with their number. */

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Cluster<T> extends Point {
  readonly count: number
  /** One of them; the only one where the count is 1. */
  readonly first: T
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/**
 * One pass over all points: 100,000 of them take a few milliseconds, so they are computed for every picture.
 *
 * @param place where a point is
 * @param box what is seen
 * @param size of a cell of the raster
 */
export function clusterPoints<T>(
  points: readonly T[],
  place: (point: T) => Point,
  box: Box,
  size: number,
): Cluster<T>[] {
  const columns = Math.ceil(box.width / size) + 1
  const cells = new Map<number, { x: number; y: number; count: number; first: T }>()
  for (const point of points) {
    const { x, y } = place(point)
    if (x < box.x || y < box.y || x > box.x + box.width || y > box.y + box.height) continue
    const cell = Math.floor((y - box.y) / size) * columns + Math.floor((x - box.x) / size)
    const known = cells.get(cell)
    if (!known) cells.set(cell, { x, y, count: 1, first: point })
    else {
      known.x += x
      known.y += y
      known.count++
    }
  }
  return [...cells.values()].map(({ x, y, count, first }) => ({ x: x / count, y: y / count, count, first }))
}
