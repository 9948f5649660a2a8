import { discoveryPaths, type NodeList, nodeIdPattern, nodeLimits } from '@selvedge/protocol'
import { createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Tracks } from '../registry/tracks.ts'
import type { SessionNode, Sessions } from '../sessions/sessions.ts'
import { createNodeLists, type NodeListsParts } from './node-lists.ts'
import { readQuery } from './read-query.ts'
import { readTrack, trackQuery } from './read-track.ts'

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

  app.get<{ Params: { nodeId: string } }>(discoveryPaths.trackOf(':nodeId'), async (request) => {
    const asker = admit(request)
    const { nodeId } = request.params
    const asked = { accountId: asker.accountId, nodeId, isOwn: nodeId === asker.nodeId }
    return readTrack(parts, asked, readQuery(trackQuery, request.query))
  })
}
