/** The sphere cut into cells that are about as wide as high everywhere: rows of equal height, fewer cells in a row towards the poles. */
import { earthRadius, radians } from './sphere.ts'

/** Degrees, WGS 84. */
export interface Place {
  readonly longitude: number
  readonly latitude: number
}

export interface Cells {
  /** Number of the cell that a place is in. A cell has its western and southern border; the antimeridian is one meridian. */
  cellOf(longitude: number, latitude: number): number
  centreOf(cell: number): Place
  /** Calls for every cell that has a place within so many metres, and perhaps for some around them. */
  visit(place: Place, radius: number, each: (cell: number) => void): void
  /** How many cells `visit` would call for, or a few more. */
  countWithin(place: Place, radius: number): number
}

/** @param rows from pole to pole: 18,000 make cells of 0.01 degrees, 1.1 km */
export function createCells(rows: number): Cells {
  const height = 180 / rows
  const columns = new Uint32Array(rows)
  /** Number of the first cell of each row. */
  const first = new Float64Array(rows + 1)
  for (let row = 0; row < rows; row++) {
    const middle = -90 + (row + 0.5) * height
    columns[row] = Math.max(1, Math.round(2 * rows * Math.cos(middle * radians)))
    first[row + 1] = first[row]! + columns[row]!
  }
  const rowOf = (latitude: number) => Math.max(0, Math.min(rows - 1, Math.floor((latitude + 90) / height)))
  const columnOf = (longitude: number, count: number) => {
    const column = Math.floor(((longitude + 180) / 360) * count)
    return ((column % count) + count) % count
  }

  /** Rows of a circle, and half its width in degrees of longitude. */
  function boundsOf({ latitude }: Place, radius: number) {
    const angle = radius / earthRadius + 1e-9
    const reach = angle / radians
    const cosine = Math.cos(latitude * radians)
    const holdsPole = latitude + reach >= 90 || latitude - reach <= -90
    const width = holdsPole ? 180 : Math.asin(Math.min(1, Math.sin(angle) / cosine)) / radians + 1e-9
    return { south: rowOf(latitude - reach), north: rowOf(latitude + reach), width }
  }

  return {
    cellOf(longitude, latitude) {
      const row = rowOf(latitude)
      return first[row]! + columnOf(longitude, columns[row]!)
    },
    centreOf(cell) {
      let low = 0
      let high = rows - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (first[middle]! <= cell) low = middle
        else high = middle - 1
      }
      const column = cell - first[low]!
      return {
        longitude: -180 + ((column + 0.5) * 360) / columns[low]!,
        latitude: -90 + (low + 0.5) * height,
      }
    },
    visit(place, radius, each) {
      const { south, north, width } = boundsOf(place, radius)
      for (let row = south; row <= north; row++) {
        const count = columns[row]!
        const west = Math.floor(((place.longitude - width + 180) / 360) * count)
        const east = Math.floor(((place.longitude + width + 180) / 360) * count)
        if (east - west + 1 >= count) {
          for (let column = 0; column < count; column++) each(first[row]! + column)
        } else {
          for (let column = west; column <= east; column++)
            each(first[row]! + (((column % count) + count) % count))
        }
      }
    },
    countWithin(place, radius) {
      const { south, north, width } = boundsOf(place, radius)
      const widest = Math.max(columns[south]!, columns[north]!, columns[rowOf(place.latitude)]!)
      return (north - south + 1) * Math.min(widest, Math.ceil((width / 180) * widest) + 2)
    },
  }
}
