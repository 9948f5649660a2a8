import { type Fix, nodeLimits, type Sharing } from '@selvedge/protocol'

/**
 * The last location of a node, its account at that time, and who may see it. Places keep 1e-7 degrees (1 cm), speeds 1 mm/s,
 * bearings 0.01 degrees.
 */
export interface Location extends Fix {
  readonly nodeId: string
  readonly nodeName: string
  readonly accountId: string
  readonly sharing: Sharing
  /** When the fix arrived first, Unix milliseconds. */
  readonly receivedAt: number
  /** Time of the last report, Unix milliseconds: it may have been the same fix again. */
  readonly heardAt: number
}

/** A location as its node reports it. */
export interface ReportedLocation extends Location {
  /** Number of the account's ownership of the node. */
  readonly term: number
}

/** `suspect`: the node can't have moved there from the fix before. Such a fix is stored, and shown as suspect. */
export interface KnownLocation extends Location {
  readonly suspect: boolean
}

export interface NearQuery {
  /** The account of the search: its own nodes are shown at the precision for the account, all others at that for others. */
  readonly accountId: string
  readonly longitude: number
  readonly latitude: number
  /** Metres. */
  readonly radius: number
  readonly limit: number
  /** Nodes without a report since then are left out, Unix milliseconds. */
  readonly heardSince: number
  /** The node that searches. */
  readonly except: string
}

/** A node nearby, and the distance to its rounded location, in metres. */
export interface Neighbour {
  readonly location: KnownLocation
  readonly distance: number
}

export type PutResult = number | 'left'

/** The interface of every store for locations; all of them pass one suite. */
export interface LocationStore {
  /**
   * Stores the newest location of each of some nodes. The one with the latest `fixedAt` wins, however late it arrives; of two
   * with the same one the later `heardAt` says how the node is now, and the fix stays as it was.
   *
   * @returns for each, the `fixedAt` of what was known before; -1 where nothing was; `left` if the node has left the account since
   *   that term: it is not stored
   */
  put(locations: readonly ReportedLocation[]): Promise<PutResult[]>
  /** The last locations of nodes, as far as they were of this account then. */
  last(accountId: string, nodeIds: readonly string[]): Promise<(KnownLocation | undefined)[]>
  /** The last locations of all nodes of an account. */
  ofAccount(accountId: string): Promise<KnownLocation[]>
  /** Nodes within a radius of a place, nearest first; of two as far away, the one with the smaller id. */
  near(query: NearQuery): Promise<Neighbour[]>
  /**
   * Forgets where a node was while it belonged to an account, and refuses what was reported under an earlier term of it: a report
   * that was on its way when the node changed hands.
   */
  forget(accountId: string, nodeId: string, term: number): Promise<void>
  /** Removes all that is held of a node, which is silent for longer than any session lasts. */
  remove(accountId: string, nodeId: string): Promise<void>
  /** Calls with each newer location of an account's nodes, until it is stopped. */
  watch(accountId: string, listener: (location: KnownLocation) => void): () => void
  /** Locations that were accepted and not written yet. */
  waiting(): number
  close(): Promise<void>
}

/** Radius of the first search, in metres; each further search is four times as wide, up to the requested radius. */
const firstRadiusMetres = 600
const growth = 4

/** Radii to look in, one after the other. */
export function* growingRadii(radius: number): Generator<number> {
  for (let next = firstRadiusMetres; next < radius; next *= growth) yield next
  yield Math.min(radius, nodeLimits.radius.most)
}

/** Nearest first; of two as far away, the one with the smaller id. */
export const byDistance = (a: Neighbour, b: Neighbour): number =>
  a.distance - b.distance || (a.location.nodeId < b.location.nodeId ? -1 : 1)

/** Integers of a location, as every engine keeps them. */
export const scale = { degrees: 1e7, speed: 1000, bearing: 100, accuracy: 100 } as const
/** Centimetres that stand for an unknown accuracy. */
export const noAccuracy = 0xffff_ffff

export const toInteger = {
  degrees: (value: number): number => Math.round(value * scale.degrees),
  speed: (value: number): number => Math.min(0xffff_ffff, Math.round(value * scale.speed)),
  bearing: (value: number): number => Math.round(value * scale.bearing) % 36_000,
  accuracy: (value: number | undefined): number =>
    value === undefined ? noAccuracy : Math.min(noAccuracy - 1, Math.round(value * scale.accuracy)),
} as const
