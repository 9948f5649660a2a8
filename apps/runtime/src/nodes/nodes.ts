/** Other nodes: of the account and nearby as the discovery service knows them, on the local network as they say themselves. */
import { type DiscoveryClient, isSelvedgeError, OAuthFailure } from '@selvedge/client'
import {
  type Cluster,
  type NodeList,
  type NodeOptions,
  type NodeRecord,
  nodeIdPattern,
  nodeLimits,
  type nodesResult,
  RpcError,
  type Track,
  type TrackOptions,
} from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { z } from 'zod'
import type { DiscoverySession } from '../cloud/discovery-session.ts'
import type { StateStore } from '../state.ts'
import type { LastKnown } from './last-known.ts'

type NodesResult = z.infer<typeof nodesResult>

export interface Nodes {
  /** @throws RpcError */
  list(cluster: Cluster, options?: NodeOptions): Promise<NodesResult>
  /** @throws RpcError */
  track(options?: TrackOptions): Promise<Track>
}

export interface NodesParts {
  readonly nodeId: string
  readonly state: StateStore
  readonly clock: Clock
  readonly client: DiscoveryClient
  readonly session: DiscoverySession
  readonly lastKnown: LastKnown
  /** The nodes that announce themselves on the local network. */
  readonly neighbours: () => Promise<readonly NodeRecord[]>
}

/** What a cluster has no use for is refused, and never passed over. */
const optionsOf: Readonly<Record<Cluster, readonly (keyof NodeOptions)[]>> = {
  account: ['limit', 'after'],
  proximity: ['radius', 'limit'],
  linkLocal: ['limit'],
}

export function createNodes(parts: NodesParts): Nodes {
  const { nodeId, state, clock, client, session, lastKnown } = parts

  function check(cluster: Cluster, options: NodeOptions): void {
    const refuse = (detail: string): never => {
      throw new RpcError('invalid_params', `getNodes: ${detail}`)
    }
    for (const name of Object.keys(options) as (keyof NodeOptions)[]) {
      const fitting = optionsOf[cluster]
      if (!fitting.includes(name))
        refuse(`the option "${name}" is not one of the cluster "${cluster}"; it has ${fitting.join(', ')}`)
    }
    if (cluster === 'proximity' && (options.limit ?? 0) > nodeLimits.nearest.most)
      refuse(`the option "limit" is ${options.limit}; of "proximity" at most ${nodeLimits.nearest.most}`)
    if (options.after !== undefined && !nodeIdPattern.test(options.after))
      refuse('the option "after" is not the "next" of a page')
  }

  const answer = (
    list: NodeList,
    source: NodesResult['source'],
    at: number,
    stale: boolean,
  ): NodesResult => ({
    ...list,
    source,
    asOf: isoTime(at),
    ageSeconds: Math.max(0, Math.floor((clock.now() - at) / 1000)),
    stale,
  })

  async function ask(cluster: 'account' | 'proximity', options: NodeOptions): Promise<NodesResult> {
    const { accountId } = state.value
    const question = { cluster, ...options }
    try {
      const list = await session.use((authorize) => client.nodes({ cluster, ...options }, authorize))
      const at = clock.now()
      await lastKnown.keep(accountId, question, at, list)
      return answer(list, 'discovery', at, false)
    } catch (cause) {
      if (cause instanceof OAuthFailure) {
        if (cause.reason === 'not_found') throw new RpcError('not_found', cause.message, { cause })
        if (cause.reason === 'invalid_request')
          throw new RpcError('invalid_params', `getNodes: ${cause.message}`, { cause })
        if (cause.status === 429) throw new RpcError('busy', cause.message, { cause })
      }
      if (!isSelvedgeError(cause) && !(cause instanceof RpcError)) throw cause
      const known = await lastKnown.find(accountId, question)
      if (known) return answer(grown(known.list, clock.now() - known.at), 'discovery', known.at, true)
      throw new RpcError('discovery_unavailable', (cause as Error).message, { cause })
    }
  }

  return {
    async list(cluster, options = {}) {
      check(cluster, options)
      if (cluster !== 'linkLocal') return ask(cluster, options)
      const heard = await parts.neighbours()
      const data = heard.slice(0, options.limit ?? nodeLimits.page.usual)
      return answer({ type: cluster, data, next: null }, 'network', clock.now(), false)
    },
    async track(options = {}) {
      try {
        return await session.use((authorize) => client.track(nodeId, options, authorize))
      } catch (cause) {
        if (cause instanceof OAuthFailure && cause.reason === 'not_found')
          return { data: [], next: null, until: null }
        if (!isSelvedgeError(cause) && !(cause instanceof RpcError)) throw cause
        throw new RpcError('discovery_unavailable', (cause as Error).message, { cause })
      }
    },
  }
}

/** An earlier answer with the present ages. Its nodes may be offline. */
const grown = (list: NodeList, milliseconds: number): NodeList => ({
  ...list,
  data: list.data.map((node) => ({
    ...node,
    fix: node.fix && {
      ...node.fix,
      ageSeconds: node.fix.ageSeconds + Math.max(0, Math.floor(milliseconds / 1000)),
    },
  })),
})
