/** Many devices as few marks: those that would lie on each other on the screen are shown as one, with their number. */
import type { Fleet } from './fleet.ts'

/** A part of the world in units of {@link Fleet}; it may begin left of 0 or end right of 1, across the date line. */
export interface Box {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

export interface Cluster {
  /** Stays the same while its devices do. */
  readonly key: string
  /** In the middle of its devices. */
  x: number
  y: number
  count: number
  /** Devices by state, in the order of `states`. */
  readonly counts: [number, number, number]
  /** Index of one of its devices; the only one if the count is 1. */
  readonly first: number
  /** What its devices take up. */
  readonly extent: { left: number; top: number; right: number; bottom: number }
}

/** Cells within the radius of a cluster, in each direction. */
const cellsInRadius = 2

/**
 * One pass over all devices puts them in cells of a grid that is fixed to the world, so that moving the map changes no cluster. Then
 * the fullest cells take in their neighbours.
 *
 * @param radius how near a device must be to the middle of a cluster
 */
export function clusterFleet(fleet: Fleet, box: Box, radius: number): Cluster[] {
  const size = radius / cellsInRadius
  const cells = gridOf(fleet, box, size)
  const clusters: Cluster[] = []
  for (const [id, cell] of [...cells].toSorted(([, one], [, other]) => other.count - one.count)) {
    if (!cells.delete(id)) continue
    for (const near of neighboursOf(id)) {
      const other = cells.get(near)
      if (!other || Math.hypot(cell.x - other.x, cell.y - other.y) > radius) continue
      cells.delete(near)
      absorb(cell, other)
    }
    clusters.push(cell)
  }
  return clusters
}

/** More than cells of the finest grid in a row. */
const row = 2 ** 26

function gridOf({ xs, ys, states }: Fleet, box: Box, size: number): Map<number, Cluster> {
  const cells = new Map<number, Cluster>()
  for (let index = 0; index < xs.length; index++) {
    const y = ys[index]!
    if (y < box.top || y > box.bottom) continue
    let x = xs[index]!
    // The copy of the world that the box begins in.
    x += Math.ceil(box.left - x)
    if (x > box.right) continue
    const id = Math.floor(y / size) * row + Math.floor(x / size)
    const cell = cells.get(id)
    if (cell) add(cell, x, y, states[index]!)
    else cells.set(id, single(`${size} ${id}`, index, x, y, states[index]!))
  }
  return cells
}

function single(key: string, index: number, x: number, y: number, state: number): Cluster {
  const cluster: Cluster = {
    ...{ key, x, y, count: 1, first: index },
    counts: [0, 0, 0],
    extent: { left: x, top: y, right: x, bottom: y },
  }
  cluster.counts[state]!++
  return cluster
}

function add(cluster: Cluster, x: number, y: number, state: number): void {
  const { extent } = cluster
  cluster.count++
  cluster.counts[state]!++
  cluster.x += (x - cluster.x) / cluster.count
  cluster.y += (y - cluster.y) / cluster.count
  extent.left = Math.min(extent.left, x)
  extent.right = Math.max(extent.right, x)
  extent.top = Math.min(extent.top, y)
  extent.bottom = Math.max(extent.bottom, y)
}

function absorb(cluster: Cluster, { x, y, count, counts, extent }: Cluster): void {
  const total = cluster.count + count
  cluster.x += ((x - cluster.x) * count) / total
  cluster.y += ((y - cluster.y) * count) / total
  cluster.count = total
  for (const state of [0, 1, 2] as const) cluster.counts[state] += counts[state]
  cluster.extent.left = Math.min(cluster.extent.left, extent.left)
  cluster.extent.right = Math.max(cluster.extent.right, extent.right)
  cluster.extent.top = Math.min(cluster.extent.top, extent.top)
  cluster.extent.bottom = Math.max(cluster.extent.bottom, extent.bottom)
}

function* neighboursOf(id: number): Generator<number> {
  for (let down = -cellsInRadius; down <= cellsInRadius; down++)
    for (let along = -cellsInRadius; along <= cellsInRadius; along++)
      if (down !== 0 || along !== 0) yield id + down * row + along
}
