/** A fleet for the engines of locations, and how it goes on. */
import { destination } from '@selvedge/geo'
import type { Location } from '../apps/discovery/src/stores/location-store.ts'
import { createFleet } from '../apps/simulator/src/fleet.ts'
import { createRandom } from '../apps/simulator/src/random.ts'

/** Moves that come together. */
export const batch = 1000
export const clock = { now: Date.now }

/** The locations of all devices, and the next moves: each goes on for ten seconds, and has all of one account as its audience. */
export function createMoves(size: number) {
  const fleet = createFleet(size, 'world', 'bench')
  const random = createRandom('bench')
  let next = 0
  const at = (index: number, elapsed: number): Location => {
    const now = clock.now()
    const { accuracy: _, ...fix } = fleet.move(index, elapsed)
    return {
      ...fix,
      fixedAt: now,
      source: 'api',
      nodeId: Buffer.from(index.toString(16).padStart(56, '0')).toString('latin1'),
      nodeName: 'node',
      accountId: 'account',
      sharing: { account: 'exact', others: 'none' },
      receivedAt: now,
      heardAt: now,
    }
  }
  return {
    first: (from: number) =>
      Array.from({ length: Math.min(batch, size - from) }, (_, index) => at(from + index, 0)),
    moves: () => Array.from({ length: batch }, () => at(next++ % size, 10)),
    /** The location of a caller: near devices, because devices are the callers. */
    somewhere: () => {
      const { longitude, latitude } = fleet.move(Math.floor(random.next() * size), 0)
      return destination({ longitude, latitude }, random.next() * 360, random.next() * 500)
    },
  }
}
