/** HTTP shapes of the discovery service. */
import * as z from 'zod'

/** Paths below the URL of the service. */
export const discoveryPaths = {
  /** A node reports where it is: one fix or several, oldest or newest first. */
  fixes: '/v1/fixes',
  /** The last fix of a node, for its own account. */
  fixOf: (nodeId: string) => `/v1/nodes/${nodeId}/fix`,
  /** Last fixes of an account's nodes, and each new one as a server-sent event: for the console of its identity service. */
  accountFixes: '/v1/account/fixes',
  accountStream: '/v1/account/fixes/stream',
  health: '/healthz',
} as const

/** Most fixes in one report. */
export const maxFixes = 100

/** A fix as a node reports it. Degrees (WGS 84), metres a second, and the time it was taken in Unix milliseconds. */
export const fix = z.strictObject({
  longitude: z.number().min(-180).max(180),
  latitude: z.number().min(-90).max(90),
  speed: z.number().min(0),
  bearing: z.number().min(0).lt(360),
  fixedAt: z.number().int().min(0),
})

export type Fix = z.infer<typeof fix>

/** One fix, or several. */
export const fixReport = z.union([fix, z.array(fix).min(1).max(maxFixes)])

export const fixReceipt = z.object({
  accepted: z.number().int().describe('How many of the fixes are new'),
  newest: z
    .number()
    .int()
    .describe('Time of the newest fix that the service holds of the node, Unix milliseconds'),
})

export type FixReceipt = z.infer<typeof fixReceipt>

export const lastFix = fix.omit({ fixedAt: true }).extend({
  nodeId: z.string(),
  nodeName: z.string(),
  accountId: z.string(),
  fixedAt: z.iso.datetime(),
  receivedAt: z.iso.datetime(),
  ageSeconds: z.number().int().describe('Whole seconds since the fix was taken'),
})

export type LastFix = z.infer<typeof lastFix>

/** The last fixes of an account's nodes. */
export const accountFixes = z.array(
  fix.omit({ fixedAt: true }).extend({ nodeId: z.string(), fixedAt: z.iso.datetime() }),
)

export type AccountFix = z.infer<typeof accountFixes>[number]

/** A refusal of the discovery service: RFC 6750 errors where a token is the matter, else `invalid_request` and the like. */
export const discoveryError = z.object({ error: z.string(), error_description: z.string() })
