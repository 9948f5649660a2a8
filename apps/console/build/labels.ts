/** Where the name of a country is shown, and from which zoom on. */
import type { Feature, Geometry, Position } from 'geojson'

/** Name, longitude, latitude, and the zoom from which it has room, of 512 px tiles. */
export type Label = readonly [name: string, longitude: number, latitude: number, minZoom: number]

/** Steps of the grid of candidates across a country. */
const gridSteps = 24
/** Corners of a country that count for its middle. */
const maxCorners = 200
/** Width of a letter in px, about. */
const letterPx = 4.5
const worldPx = 512

export function labelOf({ geometry, properties }: Feature<Geometry, { name: string }>): Label | undefined {
  const ring = outerRings(geometry).toSorted((one, other) => areaOf(other) - areaOf(one))[0]
  if (!ring) return undefined
  const [longitude, latitude] = middleOf(ring)
  const degrees = 2 * Math.sqrt(areaOf(ring) / Math.PI)
  const neededDegrees = (properties.name.length * letterPx * 360) / worldPx
  const minZoom = Math.min(8, Math.max(0.5, Math.log2(neededDegrees / degrees)))
  return [properties.name, round(longitude), round(latitude), round(minZoom)]
}

const round = (value: number): number => Math.round(value * 100) / 100

function outerRings(geometry: Geometry): Position[][] {
  if (geometry.type === 'Polygon') return geometry.coordinates.slice(0, 1)
  return geometry.type === 'MultiPolygon' ? geometry.coordinates.flatMap((each) => each.slice(0, 1)) : []
}

/** Square degrees, as if the equator went through it. */
function areaOf(ring: Position[]): number {
  let sum = 0
  for (const [[x1 = 0, y1 = 0], [x2 = 0, y2 = 0]] of edgesOf(ring)) sum += x1 * y2 - x2 * y1
  return Math.abs(sum / 2) * Math.cos(((ring[0]?.[1] ?? 0) * Math.PI) / 180)
}

/** Enough of a ring to find its middle. */
function thinned(ring: Position[]): Position[] {
  const step = Math.ceil(ring.length / maxCorners)
  return [...ring.filter((_, index) => index % step === 0), ring[0]!]
}

const edgesOf = (ring: Position[]): [Position, Position][] =>
  ring.slice(1).map((point, index) => [ring[index]!, point])

/** The point of a grid that is in the ring, and farthest from its edges. */
function middleOf(ring: Position[]): [number, number] {
  const xs = ring.map(([x = 0]) => x)
  const ys = ring.map(([, y = 0]) => y)
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
  const edges = edgesOf(thinned(ring))
  let best: [number, number] = [(left + right) / 2, (bottom + top) / 2]
  let farthest = 0
  for (let column = 1; column < gridSteps; column++) {
    for (let row = 1; row < gridSteps; row++) {
      const x = left + ((right - left) * column) / gridSteps
      const y = bottom + ((top - bottom) * row) / gridSteps
      const distance = isInside(edges, x, y) ? distanceTo(edges, x, y) : 0
      if (distance > farthest) [farthest, best] = [distance, [x, y]]
    }
  }
  return best
}

const isInside = (edges: [Position, Position][], x: number, y: number): boolean =>
  edges.filter(
    ([[x1 = 0, y1 = 0], [x2 = 0, y2 = 0]]) =>
      y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1,
  ).length %
    2 ===
  1

/** Degrees to the nearest corner: the corners are dense enough. */
const distanceTo = (edges: [Position, Position][], x: number, y: number): number => {
  const stretch = Math.cos((y * Math.PI) / 180)
  return Math.min(...edges.map(([[x1 = 0, y1 = 0]]) => Math.hypot((x1 - x) * stretch, y1 - y)))
}
