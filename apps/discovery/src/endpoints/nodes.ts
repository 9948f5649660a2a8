import {
  discoveryPaths,
  type NodeList,
  nodeIdPattern,
  nodeLimits,
  OAuthError,
  type Track,
  trackLimits,
} from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Tracks } from '../registry/tracks.ts'
import type { SessionNode, Sessions } from '../sessions/sessions.ts'
import { createNodeLists, type NodeListsParts } from './node-lists.ts'

export interface NodesParts extends NodeListsParts {
  readonly tracks: Tracks
  readonly sessions: Sessions
}

/** Rate limit of a node, for lists and tracks together. */
const requests = { burst: 60, perSecond: 2 }

const query = z.discriminatedUnion('cluster', [
  z.strictObject({
    cluster: z.literal('account'),
    limit: z.coerce.number().int().min(1).max(nodeLimits.page.most).default(nodeLimits.page.usual),
    after: z.string().regex(nodeIdPattern).optional(),
  }),
  z.strictObject({
    cluster: z.literal('proximity'),
    radius: z.coerce.number().positive().max(nodeLimits.radius.most).default(nodeLimits.radius.usual),
    limit: z.coerce.number().int().min(1).max(nodeLimits.nearest.most).default(nodeLimits.nearest.usual),
  }),
])

const trackQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(trackLimits.page).default(trackLimits.page),
  before: z.coerce.number().int().min(0).optional(),
})

/** @throws OAuthError `invalid_request` if the query does not have this form */
function readQuery<T extends z.ZodType>(type: T, given: unknown): z.infer<T> {
  const read = type.safeParse(given)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new OAuthError('invalid_request', `"${issue?.path.join('.') || 'cluster'}": ${issue?.message}`)
}

/** `GET /v1/nodes` and `GET /v1/nodes/<id>/track`, for nodes. */
export function addNodesEndpoints(app: FastifyInstance, parts: NodesParts): void {
  const lists = createNodeLists(parts)
  const limiter = createLimiter(requests)

  /** @throws OAuthError `invalid_token`, or `temporarily_unavailable` beyond the rate limit */
  function admit({ headers: { authorization }, url }: FastifyRequest): SessionNode {
    const asker = parts.sessions.nodeOf({ authorization, method: 'GET', path: url, body: '' })
    takeOrRefuse(limiter, asker.nodeId, 'this node')
    return asker
  }

  app.get(discoveryPaths.nodes, async (request): Promise<NodeList> => {
    const asker = admit(request)
    const options = readQuery(query, request.query)
    return options.cluster === 'account'
      ? lists.ofAccount(asker, options.limit, options.after ?? '')
      : lists.nearby(asker, options.radius, options.limit)
  })

  app.get<{ Params: { nodeId: string } }>(discoveryPaths.trackOf(':nodeId'), async (request) =>
    readTrack(parts, admit(request), request.params.nodeId, readQuery(trackQuery, request.query)),
  )
}

/** @throws OAuthError `not_found` if the node is not of the account, or does not share exact locations with it */
async function readTrack(
  { clock, store, registry, tracks }: NodesParts,
  asker: SessionNode,
  nodeId: string,
  { limit, before }: z.infer<typeof trackQuery>,
): Promise<Track> {
  const { accountId } = asker
  const [[node], [last]] = await Promise.all([
    registry.find(accountId, [nodeId]),
    store.last(accountId, [nodeId]),
  ])
  // The track is as exact as the fixes were: only for the node itself, or for an account that sees exact locations.
  const isShared = nodeId === asker.nodeId || last?.sharing.account === 'exact'
  if (!node || !isShared)
    throw new OAuthError('not_found', 'the account has no node with this ID that shares its track')
  const isStored = node.trackUntil > clock.now()
  const found = isStored ? await tracks.of(nodeId, limit + 1, before) : []
  const points = found.slice(-limit)
  return {
    data: points.map(({ longitude, latitude, fixedAt }) => [longitude, latitude, fixedAt]),
    next: found.length > limit ? points[0]!.fixedAt : null,
    until: isStored ? isoTime(node.trackUntil) : null,
  }
}
