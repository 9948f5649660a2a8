/** The locations of other nodes, and who may see the location of this one. */
import * as z from 'zod'
import {
  audiences,
  clusters,
  longestTrack,
  nodeLimits,
  nodeList,
  precisions,
  track,
  trackLimits,
} from '../http/discovery.ts'
import { method, param } from './method.ts'
import { edgeAccessToken, isoTime } from './values.ts'

const { radius, nearest, page } = nodeLimits

export const nodeOptions = z.strictObject({
  radius: z.number().positive().max(radius.most).optional().describe('proximity: metres around this node'),
  limit: z.number().int().min(1).max(page.most).optional().describe('Maximum number of nodes in the result'),
  after: z.string().max(128).optional().describe('account: "next" of the page before'),
})

export type NodeOptions = z.infer<typeof nodeOptions>

export const nodesResult = nodeList.extend({
  source: z
    .enum(['discovery', 'network'])
    .describe('Source: the discovery service, or the nodes themselves on the local network'),
  asOf: isoTime.describe('When the source reported it'),
  ageSeconds: z.number().int(),
  stale: z
    .boolean()
    .describe('Whether this is a cached result, because the discovery service cannot be reached'),
})

export const getNodes = method({
  name: 'getNodes',
  summary: 'Nodes of the account, nodes nearby, or nodes on the local network.',
  description:
    `account: all of them, ${page.usual} a page. proximity: the ${nearest.usual} nearest (at most ${nearest.most}) within ` +
    `${radius.usual / 1000} km (at most ${radius.most / 1000} km) of the location that this node reported; nodes of other accounts only as far as their owners share them. ` +
    'linkLocal: nodes that announce themselves on the local network; works without internet. The REST twin is GET /mds/v1/nodes?clusters=….',
  params: [
    edgeAccessToken,
    param('cluster', z.enum(clusters), clusters.map((each) => `"${each}"`).join(', '), 'Which nodes.'),
    param(
      'options',
      nodeOptions.optional(),
      `an object with "radius" (metres, up to ${radius.most}), "limit" (1 to ${page.most}; ${nearest.most} for proximity) and "after"`,
      'Absent: the defaults.',
    ),
  ],
  result: nodesResult,
  reasons: ['discovery_unavailable', 'not_found', 'busy'],
  access: { caller: 'token', token: 'associated', scope: 'edge:clusters' },
  fromServices: 'yes',
})

const precision = z.enum(precisions)
const status = z.enum(['ok', 'queued']).describe('Whether the discovery service has received it')

export const setLocationSharing = method({
  name: 'setLocationSharing',
  summary: 'Sets the precision at which an audience sees the location of this node.',
  description:
    'exact; 1km and city: the middle of a cell of 1 km or 20 km; none: nothing. Default: the own account sees the exact location, others see nothing.',
  params: [
    edgeAccessToken,
    param(
      'audience',
      z.enum(audiences),
      '"account" or "others"',
      'Nodes and people of the account, or everyone else.',
    ),
    param('precision', precision, precisions.map((each) => `"${each}"`).join(', '), 'The precision.'),
  ],
  result: z.object({ account: precision, others: precision, status }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated' },
})

export const setLocationTrack = method({
  name: 'setLocationTrack',
  summary: 'Stores a track of this node until a date, or stops and deletes it.',
  description: `Without a track only the last fix is stored. At the end date, at most ${longestTrack / 86_400_000} days ahead, the track is deleted.`,
  params: [
    edgeAccessToken,
    param(
      'until',
      z.union([z.iso.datetime({ offset: true }), z.literal('')]),
      'a time in ISO 8601, or "" for no track',
      'End date.',
    ),
  ],
  result: z.object({ until: isoTime.nullable(), status }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated' },
})

export const getLocationSharing = method({
  name: 'getLocationSharing',
  summary: 'Who can see the location of this node, at which precision, and whether a track is stored.',
  params: [edgeAccessToken],
  result: z.object({ account: precision, others: precision, trackUntil: isoTime.nullable() }),
  reasons: [],
  access: { caller: 'token', token: 'associated' },
})

const trackOptions = z.strictObject({
  limit: z
    .number()
    .int()
    .min(1)
    .max(trackLimits.page)
    .optional()
    .describe('Maximum number of points in the result'),
  before: z.number().int().min(0).optional().describe('Unix milliseconds: "next" of the page before'),
})

export type TrackOptions = z.infer<typeof trackOptions>

export const getLocationTrack = method({
  name: 'getLocationTrack',
  summary: 'The track of this node, oldest point first, while one is stored.',
  description: `The last ${trackLimits.page} points; with "before" the ones before. Of a track the last ${trackLimits.kept} points are stored.`,
  params: [
    edgeAccessToken,
    param(
      'options',
      trackOptions.optional(),
      `an object with "limit" (1 to ${trackLimits.page}) and "before" (Unix milliseconds)`,
      'Absent: the last points.',
    ),
  ],
  result: track,
  reasons: ['discovery_unavailable'],
  access: { caller: 'token', token: 'associated' },
})
