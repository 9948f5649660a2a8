/** Where other nodes are, and who is told where this one is. */
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
  limit: z.number().int().min(1).max(page.most).optional().describe('Most nodes of the answer'),
  after: z.string().max(128).optional().describe('account: "next" of the page before'),
})

export type NodeOptions = z.infer<typeof nodeOptions>

export const nodesResult = nodeList.extend({
  source: z
    .enum(['discovery', 'network'])
    .describe('Who said so: the discovery service, or the nodes themselves on the local network'),
  asOf: isoTime.describe('When they said so'),
  ageSeconds: z.number().int(),
  stale: z
    .boolean()
    .describe('Whether it is the last known copy, since the discovery service can not be reached'),
})

export const getNodes = method({
  name: 'getNodes',
  summary: 'Nodes of the account, nodes nearby, or nodes on the local network.',
  description:
    `account: all of them, ${page.usual} a page. proximity: the ${nearest.usual} nearest (at most ${nearest.most}) within ` +
    `${radius.usual / 1000} km (at most ${radius.most / 1000} km) of the place that this node reported; nodes of others only as far as their owners share them. ` +
    'linkLocal: what announces itself on the local network, without internet. The REST twin is GET /mds/v1/nodes?clusters=….',
  params: [
    edgeAccessToken,
    param('cluster', z.enum(clusters), clusters.map((each) => `"${each}"`).join(', '), 'Which nodes.'),
    param(
      'options',
      nodeOptions.optional(),
      `an object with "radius" (metres, up to ${radius.most}), "limit" (1 to ${page.most}; ${nearest.most} for proximity) and "after"`,
      'Left out: the usual ones.',
    ),
  ],
  result: nodesResult,
  reasons: ['discovery_unavailable', 'not_found', 'busy'],
  access: { caller: 'token', token: 'associated', scope: 'edge:clusters' },
})

const precision = z.enum(precisions)
const status = z.enum(['ok', 'queued']).describe('Whether the discovery service has it already')

export const setLocationSharing = method({
  name: 'setLocationSharing',
  summary: 'Sets with which precision an audience sees the location of this node.',
  description:
    'exact; 1km and city: the middle of a cell of 1 km or 20 km; none: nothing. Without it the own account sees the exact location and others see nothing.',
  params: [
    edgeAccessToken,
    param(
      'audience',
      z.enum(audiences),
      '"account" or "others"',
      'Nodes and people of the account, or everybody else.',
    ),
    param('precision', precision, precisions.map((each) => `"${each}"`).join(', '), 'How exactly.'),
  ],
  result: z.object({ account: precision, others: precision, status }),
  reasons: ['storage_full'],
  access: { caller: 'token', token: 'associated' },
})

export const setLocationTrack = method({
  name: 'setLocationTrack',
  summary: 'Keeps a track of this node until a date, or none.',
  description: `Without it only the last fix is kept. At the end date, at most ${longestTrack / 86_400_000} days ahead, the track is deleted.`,
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
  summary: 'Who can see the location of this node, with which precision, and whether a track is stored.',
  params: [edgeAccessToken],
  result: z.object({ account: precision, others: precision, trackUntil: isoTime.nullable() }),
  reasons: [],
  access: { caller: 'token', token: 'associated' },
})

const trackOptions = z.strictObject({
  limit: z.number().int().min(1).max(trackLimits.page).optional().describe('Most points of the answer'),
  before: z.number().int().min(0).optional().describe('Unix milliseconds: "next" of the page before'),
})

export type TrackOptions = z.infer<typeof trackOptions>

export const getLocationTrack = method({
  name: 'getLocationTrack',
  summary: 'Where this node went, oldest first, while its track is kept.',
  description: `The last ${trackLimits.page} points; with "before" the ones before. Of a track the last ${trackLimits.kept} points are kept.`,
  params: [
    edgeAccessToken,
    param(
      'options',
      trackOptions.optional(),
      `an object with "limit" (1 to ${trackLimits.page}) and "before" (Unix milliseconds)`,
      'Left out: the last points.',
    ),
  ],
  result: track,
  reasons: ['discovery_unavailable'],
  access: { caller: 'token', token: 'associated' },
})
