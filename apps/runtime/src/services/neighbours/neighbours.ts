/**
 * Lists of nodes for services, as this API family does it: the service lists them without a token and gets a sealed value, which it
 * opens with the token of its caller. The sealed value holds no node, only what was asked for: the list is made when it is opened, with
 * the access of that token, so that a service without one learns nothing and makes the runtime do nothing.
 */
import {
  type Cluster,
  type Methods,
  methods,
  type NodeOptions,
  type ResultOf,
  RpcError,
} from '@selvedge/protocol'
import * as z from 'zod'
import type { Callers } from '../../device/tokens/callers.ts'
import type { ProvenRequest } from '../../device/tokens/proof.ts'
import { createSeals, type SealedValue, sealedValue } from './open-sealed.ts'

/** Milliseconds in which a sealed list may be opened. */
const lifetimeMs = 60_000

/** Clusters that only a token shows. */
type SealedCluster = Exclude<Cluster, 'linkLocal'>

type NodesResult = ResultOf<Methods['getNodes']>

interface OpenedNodes {
  readonly cluster: SealedCluster
  readonly accountId: string
  readonly nodes: NodesResult['data']
}

interface SealedNodes {
  readonly type: SealedCluster
  readonly data: SealedValue
}

export interface Neighbours {
  /** What `GET /mds/v1/nodes?clusters=…` answers to a service without a token. @param instance the one that gets the answer */
  seal(cluster: SealedCluster, options: NodeOptions, instance: string): SealedNodes
  /**
   * Answers `{ "sealed", "token" }` of an instance. With the type `local`, a list of the account only names the account.
   *
   * @throws RpcError as `getNodes` does, and `invalid_params`
   */
  open(body: unknown, instance: string, request: Omit<ProvenRequest, 'shown'>): Promise<OpenedNodes>
}

export interface NeighbourParts {
  readonly authorize: Callers['authorize']
  readonly list: (cluster: Cluster, options: NodeOptions) => Promise<NodesResult>
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** What a sealed value holds. */
interface Question {
  readonly cluster: SealedCluster
  readonly options: NodeOptions
}

const openRequest = z.object({
  type: z.enum(['local', 'account']).default('account'),
  sealed: sealedValue,
  token: z.string().max(16_384),
})

export function createNeighbours({ authorize, list, now }: NeighbourParts): Neighbours {
  const seals = createSeals(now)
  const { access, name } = methods.getNodes
  return {
    seal: (cluster, options, instance) => ({
      type: cluster,
      data: seals.seal(JSON.stringify({ cluster, options } satisfies Question), instance, lifetimeMs),
    }),
    async open(body, instance, request) {
      const asked = openRequest.safeParse(body).data
      if (!asked)
        throw new RpcError('invalid_params', 'send { "sealed": { "data", "iv", "tag" }, "token" } as JSON')
      const { type, sealed, token } = asked
      const { cluster, options } = JSON.parse(seals.open(sealed, instance)) as Question
      if (token === '')
        throw new RpcError('token_missing', `clusters=${cluster} needs the access token of a caller`)
      const proven = { ...request, shown: { scheme: 'Bearer' as const, token } } satisfies ProvenRequest
      const { account_id: accountId } = await authorize(token, access, proven, name)
      const isNameOnly = type === 'local' && cluster === 'account'
      return { cluster, accountId, nodes: isNameOnly ? [] : (await list(cluster, options)).data }
    },
  }
}
