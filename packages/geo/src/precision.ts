/** The precision at which another party sees a location. */
import type { Precision } from '@selvedge/protocol'
import { type Cells, createCells, type Place } from './cells.ts'

/** Rows of the grids: cells of 1.0 km, and of 20 km. */
const rows = { '1km': 20_015, city: 1001 } as const

const grids: { -readonly [P in keyof typeof rows]?: Cells } = {}

/** The grid that a precision snaps to; made when it is first asked for. */
export const snapGrid = (precision: keyof typeof rows): Cells =>
  (grids[precision] ??= createCells(rows[precision]))

/**
 * The location that another party sees: exact, or the middle of its cell,
 * which is equal for every location in it. Undefined if it may see nothing.
 */
export function snap(precision: Precision, place: Place): Place | undefined {
  if (precision === 'none') return undefined
  if (precision === 'exact') return place
  const grid = snapGrid(precision)
  return grid.centreOf(grid.cellOf(place.longitude, place.latitude))
}
