import { type Cluster, clusters, methods, type NodeOptions, RpcError } from '@selvedge/protocol'
import type { Routes } from '../rest/rest.ts'
import type { Nodes } from './nodes.ts'

/** `GET /mds/v1/nodes?clusters=…`, the REST twin of getNodes. */
export const nodesRoutes = (nodes: Nodes): Routes => ({
  prefix: '/mds/v1',
  table: {
    'GET /mds/v1/nodes': {
      as: methods.getNodes,
      handle: async ({ query }) => {
        const cluster = query.get('clusters') ?? ''
        if (!(clusters as readonly string[]).includes(cluster)) {
          throw new RpcError(
            'invalid_params',
            `the parameter "clusters" is ${JSON.stringify(cluster)}; expected one of ${clusters.join(', ')}`,
          )
        }
        return nodes.list(cluster as Cluster, readOptions(query))
      },
    },
  },
})

function readOptions(query: URLSearchParams): NodeOptions {
  const given = [...query].filter(([name]) => name !== 'clusters')
  const entries = given.map(([name, value]) => [name, name === 'after' ? value : Number(value)] as const)
  const { schema, expected } = methods.getNodes.params[2]
  const read = schema.safeParse(Object.fromEntries(entries))
  if (read.success) return read.data ?? {}
  throw new RpcError('invalid_params', `the query ${JSON.stringify(query.toString())} is not ${expected}`)
}
