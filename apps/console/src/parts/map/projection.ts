/** Positions of locations on the picture of the world, in its own units. */
import { geoEqualEarth, geoPath } from 'd3-geo'
import type { MapPlace } from '../../state/use-places.ts'
import type { Point } from './clusters.ts'

export const worldWidth = 960
export const worldHeight = 480

const projection = geoEqualEarth().fitExtent(
  [
    [4, 4],
    [worldWidth - 4, worldHeight - 4],
  ],
  { type: 'Sphere' },
)

export const pathOf = geoPath(projection)

/** Kept, since projecting a fleet is the most expensive step. */
const points = new WeakMap<MapPlace, Point>()

export function pointOf(place: MapPlace): Point {
  let point = points.get(place)
  if (!point) {
    const [x = 0, y = 0] = projection([place.longitude, place.latitude]) ?? []
    points.set(place, (point = { x, y }))
  }
  return point
}

/** Metres that a unit of the picture is wide at a point. */
export function metresPerUnit({ x, y }: Point): number {
  const earthCircumferenceM = 40_075_017
  const at = projection.invert?.([x, y])
  const beside = projection.invert?.([x + 0.01, y])
  if (!at || !beside) return 0
  const degrees = Math.abs(beside[0] - at[0]) * Math.cos((at[1] * Math.PI) / 180)
  return ((degrees / 360) * earthCircumferenceM) / 0.01
}
