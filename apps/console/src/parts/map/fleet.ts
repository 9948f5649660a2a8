/** The devices of a fleet as the map needs them: flat lists, since 100,000 of them are read for each picture. */
import type { Device } from '@selvedge/protocol/console'
import { stateAt } from '../../state/presence.ts'
import type { MapPlace } from '../../state/use-places.ts'

export type State = Device['state']

/** In the order in which a ring shows them. */
export const states: readonly State[] = ['online', 'away', 'blocked']

export interface Fleet {
  readonly places: readonly MapPlace[]
  /** Web Mercator: the world is 1 wide and 1 high, from its north-west corner. */
  readonly xs: Float64Array
  readonly ys: Float64Array
  /** Indexes of {@link states}. */
  readonly states: Uint8Array
}

/** Degrees that Web Mercator can show. */
const maxLatitude = 85.05

/**
 * @param known states of the devices that the page lists
 * @param atMs the moment for which that list is right, in Unix milliseconds
 */
export function fleetOf(places: readonly MapPlace[], known: ReadonlyMap<string, State>, atMs: number): Fleet {
  const fleet: Fleet = {
    places,
    xs: new Float64Array(places.length),
    ys: new Float64Array(places.length),
    states: new Uint8Array(places.length),
  }
  for (const [index, { nodeId, longitude, latitude, onlineUntil }] of places.entries()) {
    fleet.xs[index] = (longitude + 180) / 360
    fleet.ys[index] = mercatorY(latitude)
    fleet.states[index] = states.indexOf(known.get(nodeId) ?? stateAt(onlineUntil, atMs))
  }
  return fleet
}

export function mercatorY(latitude: number): number {
  const clamped = Math.min(maxLatitude, Math.max(-maxLatitude, latitude))
  return (1 - Math.asinh(Math.tan((clamped * Math.PI) / 180)) / Math.PI) / 2
}

export const longitudeOf = (x: number): number => x * 360 - 180

export const latitudeOf = (y: number): number => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI
