/** What is near, in a cluster: cells name those who may be, their records decide. */
import { distanceBetween, snap } from '@selvedge/geo'
import {
  byDistance,
  growingRadii,
  type KnownLocation,
  type NearQuery,
  type Neighbour,
} from '../location-store.ts'
import { cellKey, cellsWithin, everybody, fromField, seenFrom, spaceOf } from './keys.ts'
import type { Read } from './reader.ts'

/** Metres by which a geohash of 52 bits, or a turned place, may be off. */
const margin = 5
/** Most members that one cell is asked for at first; four times as many where they do not do. */
const firstCount = 500
const mostCount = 128_000

export interface NearParts {
  readonly read: Read
  /** The records of nodes by account. */
  readonly last: (accountId: string, nodeIds: readonly string[]) => Promise<(KnownLocation | undefined)[]>
  /** Milliseconds of a slot of time. */
  readonly slotLength: number
  readonly now: () => number
}

/** The library has the command, its types have not. */
interface GeoSearch {
  geosearchBuffer(...args: (string | number)[]): Promise<unknown>
}

interface Candidates {
  /** By account. */
  readonly nodes: Map<string, Set<string>>
  /** Metres within which none is missing. */
  readonly complete: number
}

export async function findNear(query: NearQuery, parts: NearParts): Promise<Neighbour[]> {
  let found: Neighbour[] = []
  for (const radius of growingRadii(query.radius)) {
    for (let count = firstCount; ; count *= 4) {
      const { nodes, complete } = await candidatesOf(query, radius, count, parts)
      found = await confirm(query, nodes, Math.min(radius, complete), parts)
      // With a cell cut off, only what is nearer than the cut is sure.
      if (complete >= radius || found.length >= query.limit || count >= mostCount) break
    }
    if (found.length >= query.limit) break
  }
  return found.sort(byDistance).slice(0, query.limit)
}

async function candidatesOf(
  query: NearQuery,
  radius: number,
  count: number,
  { read, slotLength, now }: NearParts,
): Promise<Candidates> {
  const newest = Math.floor(now() / slotLength)
  const nodes = new Map<string, Set<string>>()
  let complete = Number.POSITIVE_INFINITY
  const own = spaceOf(query.accountId)
  const look = async (space: string, cell: number, slot: number) => {
    const { longitude, latitude } = seenFrom(cell, query)
    const key = cellKey(space, cell, slot)
    const members = (await read((on) =>
      (on as unknown as GeoSearch).geosearchBuffer(
        key,
        'FROMLONLAT',
        longitude,
        latitude,
        'BYRADIUS',
        radius + margin,
        'm',
        'ASC',
        'COUNT',
        count,
        'WITHDIST',
      ),
    )) as [Buffer, Buffer][]
    for (const [member] of members) {
      const accountId = space === own ? query.accountId : member.toString('utf8', 28)
      if (space !== own && accountId === query.accountId) continue
      const known = nodes.get(accountId) ?? new Set()
      nodes.set(accountId, known.add(fromField(member)))
    }
    const last = members.at(-1)
    if (last && members.length === count) complete = Math.min(complete, Number(last[1].toString()) - margin)
  }
  const looks: Promise<void>[] = []
  // The slot that is ahead is that of a device whose report is dated by a service with a faster clock.
  for (const cell of cellsWithin(query, radius)) {
    for (const space of [own, everybody]) {
      for (const slot of [newest + 1, newest, newest - 1]) looks.push(look(space, cell, slot))
    }
  }
  await Promise.all(looks)
  return { nodes, complete }
}

/** Those that are where their cell says, and that the one who asks may see. */
async function confirm(
  query: NearQuery,
  candidates: Candidates['nodes'],
  radius: number,
  { last }: NearParts,
): Promise<Neighbour[]> {
  const lists = await Promise.all([...candidates].map(([accountId, ids]) => last(accountId, [...ids])))
  const found: Neighbour[] = []
  for (const location of lists.flat()) {
    if (!location || location.nodeId === query.except || location.heardAt < query.heardSince) continue
    const audience = location.accountId === query.accountId ? 'account' : 'others'
    const place = snap(location.sharing[audience], location)
    if (!place) continue
    const distance = distanceBetween(query.longitude, query.latitude, place.longitude, place.latitude)
    if (distance <= radius) found.push({ location, distance })
  }
  return found
}
