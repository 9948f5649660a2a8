/** Other nodes: of the account and nearby as the discovery service knows them, on the local network as they say themselves. */
import { type DiscoveryClient, isSelvedgeError, OAuthFailure } from '@selvedge/client'
import {
  type Cluster,
  isOnline,
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
import type { DiscoverySession } from '../../device/cloud/discovery-session.ts'
import type { StateStore } from '../../device/state.ts'
import type { Viewer } from '../link-local/show.ts'
import type { LastKnown } from './last-known.ts'

type NodesResult = z.infer<typeof nodesResult>

export interface Nodes {
  /** @throws RpcError */
  list(cluster: Cluster, options?: NodeOptions): Promise<NodesResult>
  /**
   * The cluster `linkLocal` for a caller without a token.
   *
   * @throws RpcError
   */
  listUnauthenticated(options?: NodeOptions): Promise<NodesResult>
  /** The first page of the cluster `account`, which is stored nowhere; null if the discovery service does not answer. */
  firstPage(): Promise<readonly NodeRecord[] | null>
  /** The cluster `linkLocal` from what was received, without a query. */
  heard(): readonly NodeRecord[]
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
  /** The nodes that announce themselves on the local network, for a viewer. */
  readonly neighbours: (viewer: Viewer) => Promise<readonly NodeRecord[]>
  /** Those that were received already. */
  readonly heard: () => readonly NodeRecord[]
}

/** What a cluster has no use for is refused, and never passed over. */
const optionsOf: Readonly<Record<Cluster, readonly (keyof NodeOptions)[]>> = {
  account: ['limit', 'after'],
  proximity: ['radius', 'limit'],
  linkLocal: ['limit'],
}

/** @throws RpcError `invalid_params` */
function expectFitting(cluster: Cluster, options: NodeOptions): void {
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

export function createNodes(parts: NodesParts): Nodes {
  const { nodeId, state, clock, client, session, lastKnown } = parts

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
      const list = await session.use('caller', (authorize) =>
        client.nodes({ cluster, ...options }, authorize),
      )
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
      if (known)
        return answer(aged(known, clock.now(), session.reportWithin() / 1000), 'discovery', known.at, true)
      throw new RpcError('discovery_unavailable', (cause as Error).message, { cause })
    }
  }

  async function onLocalNetwork(viewer: Viewer, options: NodeOptions): Promise<NodesResult> {
    expectFitting('linkLocal', options)
    const heard = await parts.neighbours(viewer)
    const data = heard.slice(0, options.limit ?? nodeLimits.page.usual)
    return answer({ type: 'linkLocal', data, next: null }, 'network', clock.now(), false)
  }

  return {
    async list(cluster, options = {}) {
      if (cluster === 'linkLocal') return onLocalNetwork('account', options)
      expectFitting(cluster, options)
      return ask(cluster, options)
    },
    listUnauthenticated: (options = {}) => onLocalNetwork('anyone', options),
    heard: parts.heard,
    firstPage: () => firstPage(parts),
    async track(options = {}) {
      try {
        return await session.use('caller', (authorize) => client.track(nodeId, options, authorize))
      } catch (cause) {
        if (cause instanceof OAuthFailure && cause.reason === 'not_found')
          return { data: [], next: null, until: null }
        if (!isSelvedgeError(cause) && !(cause instanceof RpcError)) throw cause
        throw new RpcError('discovery_unavailable', (cause as Error).message, { cause })
      }
    },
  }
}

async function firstPage({ state, session, client }: NodesParts): Promise<readonly NodeRecord[] | null> {
  const { accountId } = state.value
  try {
    const { data } = await session.use('caller', (authorize) =>
      client.nodes({ cluster: 'account' }, authorize),
    )
    return state.value.accountId === accountId ? data : null
  } catch (cause) {
    if (!isSelvedgeError(cause) && !(cause instanceof RpcError)) throw cause
    return null
  }
}

/**
 * An earlier answer with the ages and states of now. A node is not online any more when its last known report is too old.
 *
 * @param reportSeconds interval in which nodes report to the discovery service
 */
export const aged = (
  { list, at }: { readonly list: NodeList; readonly at: number },
  nowMs: number,
  reportSeconds: number,
): NodeList => ({
  ...list,
  data: list.data.map((node) => ({
    ...node,
    state:
      node.state === 'online' && !isOnline(heardAtOf(node, at), nowMs, reportSeconds)
        ? 'offline'
        : node.state,
    fix: node.fix && {
      ...node.fix,
      ageSeconds: node.fix.ageSeconds + Math.max(0, Math.floor((nowMs - at) / 1000)),
    },
  })),
})

/** For a node of another account the service sends no time: it was online when the service answered. */
const heardAtOf = ({ heardAt }: NodeRecord, answeredAt: number): number =>
  heardAt === null ? answeredAt : Date.parse(heardAt)
