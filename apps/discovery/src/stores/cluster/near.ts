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
const marginMetres = 5
/** Maximum members of one cell in the first request; four times as many if these are not enough. */
const firstCount = 500
const mostCount = 128_000
/** Milliseconds by which another service's clock, and so the slot of its reports, may be ahead. */
const skewMs = 60_000

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

interface Candidate {
  /** Account and node: of a node that went to another account, cells still know the former one. */
  readonly key: string
  readonly accountId: string
  readonly nodeId: string
  /** Metres, as the cell has it. */
  readonly distance: number
}

interface Candidates {
  /** By their keys. */
  readonly nodes: ReadonlyMap<string, Candidate>
  /** Metres within which the list is complete. */
  readonly complete: number
}

/** The records that were looked at for one question, by the key of the candidate; undefined for one that may not be seen. */
type Confirmed = Map<string, Neighbour | undefined>

export async function findNear(query: NearQuery, parts: NearParts): Promise<Neighbour[]> {
  const { limit } = query
  const confirmed: Confirmed = new Map()
  let found: Neighbour[] = []
  let before = 0
  const radii = [...growingRadii(query.radius)]
  for (const radius of radii) {
    // Where few were found, a little further there are few as well.
    const promised = Math.max(found.length, 0.5) * (radius / before) ** 2
    if (promised < limit && radius !== radii.at(-1)) continue
    before = radius
    for (let count = firstCount; ; count *= 4) {
      const { nodes, complete } = await candidatesOf(query, radius, count, parts)
      found = await confirm(query, nodes, Math.min(radius, complete), confirmed, parts)
      // With a cell cut off, only what is nearer than the cut is sure.
      if (complete >= radius || found.length >= limit || count >= mostCount) break
    }
    if (found.length >= limit) break
  }
  return found
}

async function candidatesOf(
  query: NearQuery,
  radius: number,
  count: number,
  { read, slotLength, now }: NearParts,
): Promise<Candidates> {
  const oldest = Math.floor((now() - slotLength) / slotLength)
  const newest = Math.floor((now() + skewMs) / slotLength)
  const nodes = new Map<string, Candidate>()
  let complete = Number.POSITIVE_INFINITY
  const own = spaceOf(query.accountId)
  const look = async (space: string, cell: number, slot: number) => {
    const { longitude, latitude } = seenFrom(cell, query)
    const members = (await read((on) =>
      (on as unknown as GeoSearch).geosearchBuffer(
        cellKey(space, cell, slot),
        'FROMLONLAT',
        longitude,
        latitude,
        'BYRADIUS',
        radius + marginMetres,
        'm',
        'ASC',
        'COUNT',
        count,
        'WITHDIST',
      ),
    )) as [Buffer, Buffer][]
    for (const [member, metres] of members) {
      const accountId = space === own ? query.accountId : member.toString('utf8', 28)
      const nodeId = fromField(member)
      if (nodeId === query.except || (space !== own && accountId === query.accountId)) continue
      const key = accountId + nodeId
      const distance = Number(metres.toString())
      // A node that moved is in both cells; its record has its location.
      const known = nodes.get(key)
      if (!known || distance < known.distance) nodes.set(key, { key, accountId, nodeId, distance })
    }
    const last = members.at(-1)
    if (last && members.length === count)
      complete = Math.min(complete, Number(last[1].toString()) - marginMetres)
  }
  const looks: Promise<void>[] = []
  for (const cell of cellsWithin(query, radius)) {
    for (const space of [own, everybody]) {
      for (let slot = oldest; slot <= newest; slot++) looks.push(look(space, cell, slot))
    }
  }
  await Promise.all(looks)
  return { nodes, complete }
}

/**
 * The nearest nodes that the caller may see, if they are still in their cell. Records are read from the nearest on, and only as
 * many as needed.
 */
async function confirm(
  query: NearQuery,
  candidates: Candidates['nodes'],
  radius: number,
  confirmed: Confirmed,
  { last }: NearParts,
): Promise<Neighbour[]> {
  const waiting = [...candidates.values()].sort((a, b) => a.distance - b.distance)
  let found: Neighbour[] = []
  for (let at = 0; at < waiting.length; ) {
    const farthest = found[query.limit - 1]?.distance ?? radius
    if (waiting[at]!.distance > farthest + marginMetres) break
    const some = waiting.slice(at, at + query.limit)
    at += some.length
    const unknown = Map.groupBy(
      some.filter(({ key }) => !confirmed.has(key)),
      ({ accountId }) => accountId,
    )
    await Promise.all(
      [...unknown].map(async ([accountId, nodes]) => {
        const locations = await last(
          accountId,
          nodes.map(({ nodeId }) => nodeId),
        )
        for (const [index, location] of locations.entries())
          confirmed.set(nodes[index]!.key, location && seenBy(query, location))
      }),
    )
    const seen = some.flatMap(({ key }) => confirmed.get(key) ?? [])
    const within = seen.filter(({ distance }) => distance <= radius)
    found = [...found, ...within].sort(byDistance).slice(0, query.limit)
  }
  return found
}

/** The location of a node as the caller sees it; undefined if the caller may not see it. */
function seenBy(query: NearQuery, location: KnownLocation): Neighbour | undefined {
  if (location.heardAt < query.heardSince) return undefined
  const audience = location.accountId === query.accountId ? 'account' : 'others'
  const place = snap(location.sharing[audience], location)
  if (!place) return undefined
  return {
    location,
    distance: distanceBetween(query.longitude, query.latitude, place.longitude, place.latitude),
  }
}
