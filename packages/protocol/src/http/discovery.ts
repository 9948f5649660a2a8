/** HTTP shapes of the discovery service. */
import * as z from 'zod'
import { publicJwk } from '../tokens/jwk.ts'

/** Paths below the URL of the service. */
export const discoveryPaths = {
  /** A node proves its identity once, states its addresses and services, and gets a session for the requests that follow. */
  sessions: '/v1/sessions',
  /** A node reports its location: fixes in any order, or none as a keep-alive. */
  fixes: '/v1/fixes',
  /** Nodes of a cluster, for a node. */
  nodes: '/v1/nodes',
  /** The last fix of a node, for its own account. */
  fixOf: (nodeId: string) => `/v1/nodes/${nodeId}/fix`,
  /** The track of a node of the account, while one is stored. */
  trackOf: (nodeId: string) => `/v1/nodes/${nodeId}/track`,
  /** Last fixes of an account's nodes, and each new one as a server-sent event: for the console of its identity service. */
  accountFixes: '/v1/account/fixes',
  accountStream: '/v1/account/fixes/stream',
  /** The locations of all of them in at most 4 MiB, with only the members that a map needs. */
  accountPlaces: '/v1/account/places',
  /** The track of one of them, while one is stored and the node shares exact locations with its account. */
  accountTrackOf: (nodeId: string) => `/v1/account/nodes/${nodeId}/track`,
  health: '/healthz',
  /** Whether a load balancer should send requests here. */
  ready: '/readyz',
} as const

/** Maximum number of fixes in one report. */
export const maxFixes = 100

/** Source of a fix: a call of updateGps, gpsd, or a receiver that sends NMEA 0183. */
export const fixSources = ['api', 'gpsd', 'nmea'] as const
export type FixSource = (typeof fixSources)[number]

/** The latest moment that a date can be, in Unix milliseconds (ECMA-262 § 21.4.1.1): a later one cannot be written as text. */
export const maxTime = 8.64e15

/** A fix as a node reports it. Degrees (WGS 84), metres per second, and its time in Unix milliseconds. */
export const fix = z.strictObject({
  longitude: z.number().min(-180).max(180),
  latitude: z.number().min(-90).max(90),
  speed: z.number().min(0),
  bearing: z.number().min(0).lt(360),
  fixedAt: z.number().int().min(0).max(maxTime),
  accuracy: z.number().min(0).optional().describe('Accuracy in metres, as the receiver reports it'),
  source: z.enum(fixSources).default('api'),
})

export type Fix = z.infer<typeof fix>
/** A fix as a caller sends it. */
export type FixInput = z.input<typeof fix>

/** One fix, or several, or none as a keep-alive. */
export const fixReport = z.union([fix, z.array(fix).max(maxFixes)])

export const fixReceipt = z.object({
  accepted: z.number().int().describe('How many of the fixes are new'),
  newest: z
    .number()
    .int()
    .describe(
      'Time of the newest fix that the service has stored for the node, Unix milliseconds; -1 for none',
    ),
})

export type FixReceipt = z.infer<typeof fixReceipt>

/** The precision at which an audience sees the location of a node: exact, the middle of a cell of 1 km or 20 km, or nothing. */
export const precisions = ['exact', '1km', 'city', 'none'] as const
export type Precision = (typeof precisions)[number]

/** Precision of a location in a response. */
const toldPrecision = z.enum(precisions).exclude(['none'])
export type ToldPrecision = z.infer<typeof toldPrecision>

/** The audience: nodes and people of the same account, or everyone else. */
export const audiences = ['account', 'others'] as const
export type Audience = (typeof audiences)[number]

export const sharing = z.strictObject({ account: z.enum(precisions), others: z.enum(precisions) })
export type Sharing = z.infer<typeof sharing>

/** The default, until an owner changes it. */
export const defaultSharing: Sharing = { account: 'exact', others: 'none' }

/** A service of a node: the path under which its runtime serves it. */
export const nodeService = z.object({ name: z.string().max(64), path: z.string().max(255) })
export type NodeService = z.infer<typeof nodeService>

/** Maximum number of addresses and of services that a node states, and of bytes of both together as JSON in UTF-8. */
export const maxStated = { addresses: 16, services: 100, bytes: 4096 } as const

/** What a node states about itself, for other nodes to see. */
export interface NodeStatements {
  readonly addresses: readonly string[]
  readonly services: readonly NodeService[]
}

const utf8 = new TextEncoder()

/** Bytes of what a node states, as {@link maxStated} counts them. */
export const statedBytes = ({ addresses, services }: NodeStatements): number =>
  utf8.encode(JSON.stringify({ addresses, services })).length

/** The addresses, and then the services, that fit into the limits. */
export function fitStatements({ addresses, services }: NodeStatements): {
  addresses: string[]
  services: NodeService[]
} {
  const fitting = { addresses: [] as string[], services: [] as NodeService[] }
  const fits = () => statedBytes(fitting) <= maxStated.bytes
  for (const address of addresses.slice(0, maxStated.addresses)) {
    fitting.addresses.push(address)
    if (!fits()) fitting.addresses.pop()
  }
  for (const service of services.filter((each) => nodeService.safeParse(each).success)) {
    if (fitting.services.length === maxStated.services) break
    fitting.services.push(service)
    if (!fits()) fitting.services.pop()
  }
  return fitting
}

/** Maximum retention of a track, in milliseconds. */
export const longestTrack = 31 * 86_400_000

/** What a node states about itself when it starts a session. The proof of the request covers it (claim `bh`). */
export const sessionRequest = z.strictObject({
  key: publicJwk.describe('An ephemeral P-256 key, from which both sides derive the key of the session'),
  addresses: z.array(z.string().max(128)).max(maxStated.addresses),
  services: z.array(nodeService).max(maxStated.services),
  sharing,
  trackUntil: z
    .number()
    .int()
    .min(0)
    .describe('Until when the track is stored, Unix milliseconds; 0: no track'),
})

export type SessionRequest = z.infer<typeof sessionRequest>

export const sessionResponse = z.object({
  ticket: z.string().describe('ID of the session; valid only together with its key'),
  key: publicJwk.describe('The key of the service for the agreement'),
  session_key: z
    .string()
    .describe('The key that signs the requests of the session, encrypted with the agreed key'),
  expires_in: z.number().int().describe('Seconds'),
  report_within: z.number().int().describe('Maximum seconds between two reports of a healthy node'),
  account_key: z
    .string()
    .describe('The secret that the nodes of the account share, encrypted with the key of the session'),
})

export type SessionResponse = z.infer<typeof sessionResponse>

export const lastFix = fix.omit({ fixedAt: true }).extend({
  nodeId: z.string(),
  nodeName: z.string(),
  accountId: z.string(),
  fixedAt: z.iso.datetime(),
  receivedAt: z.iso.datetime(),
  ageSeconds: z.number().int().describe('Age of the fix in whole seconds'),
  precision: toldPrecision,
  suspect: z
    .boolean()
    .describe('Whether the node cannot have moved there since the previous fix (an implausible jump)'),
})

export type LastFix = z.infer<typeof lastFix>

/** The last fixes of an account's nodes. */
export const accountFixes = z.array(
  fix
    .pick({ longitude: true, latitude: true, speed: true, bearing: true })
    .extend({ nodeId: z.string(), fixedAt: z.iso.datetime() }),
)

export type AccountFix = z.infer<typeof accountFixes>[number]

/** Node ID, longitude, latitude, and the Unix second of its last report. */
export const accountPlaces = z.array(z.tuple([z.string(), z.number(), z.number(), z.number()]))

export type AccountPlace = z.infer<typeof accountPlaces>[number]

/** Maximum number of points of a stored track, and of a page of it. */
export const trackLimits = { kept: 100_000, page: 10_000 } as const

/** A page of a track, oldest point first; the newest page comes first. */
export const track = z.object({
  data: z
    .array(z.tuple([z.number(), z.number(), z.number()]))
    .describe('Longitude, latitude, Unix milliseconds'),
  next: z.number().nullable().describe('"before" for the page with the older points; null: there are none'),
  until: z.iso
    .datetime()
    .nullable()
    .describe('When the track expires and is deleted; null if no track is stored'),
})

export type Track = z.infer<typeof track>

export const clusters = ['account', 'proximity', 'linkLocal'] as const
export type Cluster = (typeof clusters)[number]

/** Metres, and numbers of nodes. */
export const nodeLimits = {
  radius: { usual: 5000, most: 100_000 },
  nearest: { usual: 20, most: 100 },
  page: { usual: 100, most: 500 },
} as const

export const nodeFix = z.object({
  longitude: z.number(),
  latitude: z.number(),
  precision: toldPrecision.describe('exact, or the middle of a cell of this size'),
  speed: z.number().nullable(),
  bearing: z.number().nullable(),
  accuracy: z.number().nullable(),
  fixedAt: z.iso.datetime().describe('Time of the fix; for nodes of other accounts in whole minutes'),
  receivedAt: z.iso.datetime().nullable(),
  ageSeconds: z.number().int().describe('Age of the fix in seconds'),
  source: z.enum(fixSources).nullable(),
  suspect: z.boolean(),
})

/** A node as another node sees it. Members that the caller may not see are empty or null. */
export const nodeRecord = z.object({
  nodeId: z.string(),
  name: z.string().nullable(),
  accountId: z.string().nullable(),
  state: z
    .enum(['online', 'offline', 'seen'])
    .describe('seen: on this network, not proved to be of this account'),
  addresses: z.array(z.string()),
  services: z.array(nodeService),
  heardAt: z.iso.datetime().nullable().describe('When it last reported; null for nodes of other accounts'),
  distance: z.number().nullable().describe('Metres from this node to the location that is shown'),
  fix: nodeFix.nullable(),
})

export type NodeRecord = z.infer<typeof nodeRecord>
export type NodeFix = z.infer<typeof nodeFix>

export const nodeList = z.object({
  type: z.enum(clusters),
  data: z.array(nodeRecord),
  next: z.string().nullable().describe('Value of "after" for the next page'),
})

export type NodeList = z.infer<typeof nodeList>

/** An error of the discovery service: an RFC 6750 error for tokens, otherwise `invalid_request`, for example. */
export const discoveryError = z.object({ error: z.string(), error_description: z.string() })
