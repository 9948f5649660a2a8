/** HTTP shapes of the discovery service. */
import * as z from 'zod'
import { publicJwk } from '../tokens/jwk.ts'

/** Paths below the URL of the service. */
export const discoveryPaths = {
  /** A node shows who it is once, says how things are, and gets a ticket for what follows. */
  sessions: '/v1/sessions',
  /** A node reports where it is: some fixes, oldest or newest first, or none as a sign of life. */
  fixes: '/v1/fixes',
  /** Nodes of a cluster, for a node. */
  nodes: '/v1/nodes',
  /** The last fix of a node, for its own account. */
  fixOf: (nodeId: string) => `/v1/nodes/${nodeId}/fix`,
  /** Where a node of the account went, while its track is kept. */
  trackOf: (nodeId: string) => `/v1/nodes/${nodeId}/track`,
  /** Last fixes of an account's nodes, and each new one as a server-sent event: for the console of its identity service. */
  accountFixes: '/v1/account/fixes',
  accountStream: '/v1/account/fixes/stream',
  /** Where all of them are, as little as a map needs. */
  accountPlaces: '/v1/account/places',
  health: '/healthz',
} as const

/** Most fixes in one report. */
export const maxFixes = 100

/** Where a fix is from: a call of updateGps, gpsd, or a receiver that speaks NMEA 0183. */
export const fixSources = ['api', 'gpsd', 'nmea'] as const
export type FixSource = (typeof fixSources)[number]

/** The latest moment that a date can be, in Unix milliseconds (ECMA-262 § 21.4.1.1): a later one cannot be written as text. */
export const maxTime = 8.64e15

/** A fix as a node reports it. Degrees (WGS 84), metres a second, and the time it was taken in Unix milliseconds. */
export const fix = z.strictObject({
  longitude: z.number().min(-180).max(180),
  latitude: z.number().min(-90).max(90),
  speed: z.number().min(0),
  bearing: z.number().min(0).lt(360),
  fixedAt: z.number().int().min(0).max(maxTime),
  accuracy: z
    .number()
    .min(0)
    .optional()
    .describe('Metres within which the place is right, as the receiver says'),
  source: z.enum(fixSources).default('api'),
})

export type Fix = z.infer<typeof fix>
/** A fix as a caller gives it. */
export type FixInput = z.input<typeof fix>

/** One fix, or several, or none as a sign of life. */
export const fixReport = z.union([fix, z.array(fix).max(maxFixes)])

export const fixReceipt = z.object({
  accepted: z.number().int().describe('How many of the fixes are new'),
  newest: z
    .number()
    .int()
    .describe('Time of the newest fix that the service holds of the node, Unix milliseconds; -1 for none'),
})

export type FixReceipt = z.infer<typeof fixReceipt>

/** How exactly somebody is told where a node is: the middle of a cell of 1 km or of 20 km, or nothing. */
export const precisions = ['exact', '1km', 'city', 'none'] as const
export type Precision = (typeof precisions)[number]

/** Of a place that is told. */
const toldPrecision = z.enum(precisions).exclude(['none'])
export type ToldPrecision = z.infer<typeof toldPrecision>

/** Who is told: nodes and people of the same account, or everybody else. */
export const audiences = ['account', 'others'] as const
export type Audience = (typeof audiences)[number]

export const sharing = z.strictObject({ account: z.enum(precisions), others: z.enum(precisions) })
export type Sharing = z.infer<typeof sharing>

/** What holds until an owner says otherwise. */
export const defaultSharing: Sharing = { account: 'exact', others: 'none' }

/** A service of a node: the path under which its runtime serves it. */
export const nodeService = z.object({ name: z.string().max(64), path: z.string().max(255) })
export type NodeService = z.infer<typeof nodeService>

/** Most addresses and services that a node states, and bytes of both together as JSON in UTF-8. */
export const maxStated = { addresses: 16, services: 100, bytes: 4096 } as const

/** What a node states of itself for others to see. */
export interface NodeStatements {
  readonly addresses: readonly string[]
  readonly services: readonly NodeService[]
}

const utf8 = new TextEncoder()

/** Bytes of what a node states, as {@link maxStated} counts them. */
export const statedBytes = ({ addresses, services }: NodeStatements): number =>
  utf8.encode(JSON.stringify({ addresses, services })).length

/** As many addresses, and then services, as a node may state. */
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

/** Longest time for which a track is kept, in milliseconds. */
export const longestTrack = 31 * 86_400_000

/** What a node says of itself when it begins a session. The proof of the request covers it (claim `bh`). */
export const sessionRequest = z.strictObject({
  key: publicJwk.describe('An ephemeral P-256 key, from which both sides derive the key of the session'),
  addresses: z.array(z.string().max(128)).max(maxStated.addresses),
  services: z.array(nodeService).max(maxStated.services),
  sharing,
  trackUntil: z
    .number()
    .int()
    .min(0)
    .describe('Until when the track is kept, Unix milliseconds; 0: there is none'),
})

export type SessionRequest = z.infer<typeof sessionRequest>

export const sessionResponse = z.object({
  ticket: z.string().describe('Names the session; good together with its key only'),
  key: publicJwk.describe('The key of the service for the agreement'),
  session_key: z
    .string()
    .describe('What requests of the session are signed with, sealed with the agreed key'),
  expires_in: z.number().int().describe('Seconds'),
  report_within: z.number().int().describe('Seconds within which a node that is well is heard again'),
  account_key: z
    .string()
    .describe('The secret that the nodes of the account share, sealed with the key of the session'),
})

export type SessionResponse = z.infer<typeof sessionResponse>

export const lastFix = fix.omit({ fixedAt: true }).extend({
  nodeId: z.string(),
  nodeName: z.string(),
  accountId: z.string(),
  fixedAt: z.iso.datetime(),
  receivedAt: z.iso.datetime(),
  ageSeconds: z.number().int().describe('Whole seconds since the fix was taken'),
  precision: toldPrecision,
  suspect: z.boolean().describe('Whether the node can not have come there from the fix before'),
})

export type LastFix = z.infer<typeof lastFix>

/** The last fixes of an account's nodes. */
export const accountFixes = z.array(
  fix
    .pick({ longitude: true, latitude: true, speed: true, bearing: true })
    .extend({ nodeId: z.string(), fixedAt: z.iso.datetime() }),
)

export type AccountFix = z.infer<typeof accountFixes>[number]

/** Node id, longitude, latitude, and the Unix second in which it was heard. */
export const accountPlaces = z.array(z.tuple([z.string(), z.number(), z.number(), z.number()]))

export type AccountPlace = z.infer<typeof accountPlaces>[number]

/** Most points of a track that are kept, and of a page of it. */
export const trackLimits = { kept: 100_000, page: 10_000 } as const

/** A page of where a node went, oldest first; the last page comes first. */
export const track = z.object({
  data: z
    .array(z.tuple([z.number(), z.number(), z.number()]))
    .describe('Longitude, latitude, Unix milliseconds'),
  next: z
    .number()
    .nullable()
    .describe('"before" of the page with the points before these; null: there are none'),
  until: z.iso.datetime().nullable().describe('When it ends, and is deleted; null where no track is kept'),
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
  fixedAt: z.iso.datetime().describe('When it was taken; of nodes of others in whole minutes'),
  receivedAt: z.iso.datetime().nullable(),
  ageSeconds: z.number().int().describe('Seconds since it was taken'),
  source: z.enum(fixSources).nullable(),
  suspect: z.boolean(),
})

/** A node as another one sees it. What is not for the one who asks is empty or null. */
export const nodeRecord = z.object({
  nodeId: z.string(),
  name: z.string().nullable(),
  accountId: z.string().nullable(),
  state: z
    .enum(['online', 'offline', 'seen'])
    .describe('seen: on this network, of no account or another one'),
  addresses: z.array(z.string()),
  services: z.array(nodeService),
  heardAt: z.iso.datetime().nullable().describe('When it was last heard; of nodes of others null'),
  distance: z.number().nullable().describe('Metres from this node to the location that is shown'),
  fix: nodeFix.nullable(),
})

export type NodeRecord = z.infer<typeof nodeRecord>
export type NodeFix = z.infer<typeof nodeFix>

export const nodeList = z.object({
  type: z.enum(clusters),
  data: z.array(nodeRecord),
  next: z.string().nullable().describe('What to give as "after" for the next page'),
})

export type NodeList = z.infer<typeof nodeList>

/** A refusal of the discovery service: RFC 6750 errors where a token is the matter, else `invalid_request` and the like. */
export const discoveryError = z.object({ error: z.string(), error_description: z.string() })
