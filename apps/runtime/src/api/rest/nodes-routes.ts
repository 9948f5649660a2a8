import { type Cluster, clusters, methods, nodeLimits, nodeOptions, RpcError } from '@selvedge/protocol'
import type { Nodes } from '../../location/nodes/nodes.ts'
import { decimal, oneOf, type QueryOf } from './query.ts'
import { type Routes, withQuery } from './rest.ts'

const { radius, page, nearest } = nodeLimits

const query = {
  clusters: oneOf(clusters),
  radius: decimal(nodeOptions.shape.radius, `metres, more than 0, up to ${radius.most}`),
  limit: decimal(
    nodeOptions.shape.limit,
    `a whole number from 1 to ${page.most}, or ${nearest.most} for proximity`,
  ),
  after: {
    expected: '"next" of the page before',
    read: (text: string) => nodeOptions.shape.after.safeParse(text).data,
  },
}

/** The nodes of a cluster for a caller without a token, in a form that only a token opens. */
type SealedNodes = (
  cluster: Exclude<Cluster, 'linkLocal'>,
  options: Omit<QueryOf<typeof query>, 'clusters'>,
) => Promise<unknown>

export interface WithoutToken {
  /** Answers services without a token about the other clusters; absent: a token is required. */
  readonly sealedNodes?: SealedNodes
  /** Whether the API has a key: then every caller has to show something, a token here. */
  readonly hasApiKey?: boolean
}

/**
 * `GET /mds/v1/nodes?clusters=…`, the REST twin of getNodes. Without a token, programs on the device get what multicast shows to
 * every host on the local network.
 */
export const nodesRoutes = (nodes: Nodes, { sealedNodes, hasApiKey = false }: WithoutToken = {}): Routes => ({
  prefix: '/mds/v1',
  table: {
    'GET /mds/v1/nodes': {
      as: methods.getNodes,
      ignoresUnknown: true,
      ...withQuery(query, async ({ query: { clusters: cluster = 'linkLocal', ...options } }) =>
        nodes.list(cluster, options),
      ),
      withoutToken: async ({ clusters: cluster = 'linkLocal', ...options }: QueryOf<typeof query>) => {
        if (cluster === 'linkLocal' && !hasApiKey) return nodes.listUnauthenticated(options)
        if (sealedNodes && cluster !== 'linkLocal') return sealedNodes(cluster, options)
        throw new RpcError(
          'token_missing',
          `clusters=${cluster} needs a token: send "Authorization: Bearer <access token>"`,
        )
      },
    },
  },
})
