/** Where virtual devices are, and how they move: most stand, some walk, some drive and turn. All of it follows from the seed. */
import { destination } from '@selvedge/geo'
import type { FixInput } from '@selvedge/protocol'
import { createRandom, type Random } from './random.ts'

/** Where the fleet is: around the cities of the world, or in a circle. Degrees, kilometres. */
export type Region =
  | 'world'
  | { readonly longitude: number; readonly latitude: number; readonly radius: number }

/** Longitude, latitude, millions of people: where devices are is where people are. */
const cities: readonly (readonly [number, number, number])[] = [
  [139.69, 35.69, 37],
  [77.21, 28.61, 33],
  [121.47, 31.23, 29],
  [90.41, 23.81, 23],
  [-46.63, -23.55, 22],
  [-99.13, 19.43, 22],
  [31.24, 30.04, 22],
  [116.4, 39.9, 22],
  [72.88, 19.08, 21],
  [135.5, 34.69, 19],
  [-74.01, 40.71, 19],
  [67.01, 24.86, 17],
  [29.0, 41.01, 16],
  [15.27, -4.32, 16],
  [3.38, 6.52, 16],
  [-58.38, -34.6, 15],
  [120.98, 14.6, 15],
  [-43.17, -22.91, 14],
  [-118.24, 34.05, 12],
  [37.62, 55.76, 13],
  [2.35, 48.86, 11],
  [-0.13, 51.51, 10],
  [126.98, 37.57, 10],
  [106.85, -6.21, 11],
  [18.42, -33.92, 5],
  [151.21, -33.87, 5],
  [13.4, 52.52, 4],
  [-123.12, 49.28, 3],
  [174.76, -36.85, 2],
  [178.44, -18.14, 1],
  [-21.94, 64.15, 1],
  [25.28, 54.69, 1],
]

/** Share of each, and minimum and maximum speed in metres per second. */
const kinds = [
  { share: 0.6, slow: 0, fast: 0, turn: 0 },
  { share: 0.15, slow: 0.8, fast: 1.8, turn: 40 },
  { share: 0.2, slow: 5, fast: 20, turn: 12 },
  { share: 0.05, slow: 20, fast: 36, turn: 2 },
] as const

/** Share of the fleet that is in cities, and how far from the middle they are, in metres. */
const urban = { share: 0.7, deviation: 8000 } as const

export interface Fleet {
  readonly size: number
  /** Moves a device on by some seconds. @returns where it is then, without a time */
  move(device: number, seconds: number): Omit<FixInput, 'fixedAt'>
}

export function createFleet(size: number, map: Region, seed: string): Fleet {
  const random = createRandom(`fleet ${seed}`)
  const longitude = new Float64Array(size)
  const latitude = new Float64Array(size)
  const speed = new Float32Array(size)
  const bearing = new Float32Array(size)
  const kind = new Uint8Array(size)
  for (let device = 0; device < size; device++) {
    const place = placeOf(map, random)
    longitude[device] = place.longitude
    latitude[device] = place.latitude
    kind[device] = kindOf(random.next())
    const { slow, fast } = kinds[kind[device]!]!
    speed[device] = slow + random.next() * (fast - slow)
    bearing[device] = random.next() * 360
  }
  return {
    size,
    move(device, seconds) {
      const { turn, slow, fast } = kinds[kind[device]!]!
      if (fast > 0) {
        const at = { longitude: longitude[device]!, latitude: latitude[device]! }
        const next = destination(at, bearing[device]!, speed[device]! * seconds)
        longitude[device] = next.longitude
        latitude[device] = next.latitude
        bearing[device] = (bearing[device]! + random.normal() * turn + 360) % 360
        speed[device] = Math.min(fast, Math.max(slow, speed[device]! + random.normal()))
      }
      const round = (value: number, steps: number) => Math.round(value * steps) / steps
      return {
        longitude: round(longitude[device]!, 1e7),
        latitude: round(latitude[device]!, 1e7),
        speed: round(speed[device]!, 100),
        bearing: round(bearing[device]!, 10) % 360,
        accuracy: 5,
      }
    },
  }
}

function kindOf(chance: number): number {
  let sum = 0
  return Math.max(
    0,
    kinds.findIndex(({ share }) => chance < (sum += share)),
  )
}

function placeOf(map: Region, random: Random): { longitude: number; latitude: number } {
  if (map !== 'world')
    return destination(map, random.next() * 360, Math.sqrt(random.next()) * map.radius * 1000)
  if (random.next() >= urban.share) {
    const latitude = (Math.asin(random.next() * 1.6 - 0.8) * 180) / Math.PI
    return { longitude: random.next() * 360 - 180, latitude }
  }
  const people = cities.reduce((sum, [, , each]) => sum + each, 0)
  let left = random.next() * people
  const city = cities.find(([, , each]) => (left -= each) < 0) ?? cities[0]!
  return destination(
    { longitude: city[0], latitude: city[1] },
    random.next() * 360,
    Math.abs(random.normal()) * urban.deviation,
  )
}
