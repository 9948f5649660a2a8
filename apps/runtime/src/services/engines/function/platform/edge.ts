/** `context.edge`: what the package `@mimik/edge-ms-helper` and services that are older than it call. */
import { familyNode, type ListedNode } from './family-node.ts'
import { createHttpRequest, messageOf } from './http-request.ts'
import { type Callbacks, callOnce, type Outcome } from './once.ts'
import { parse, stringify } from './own.ts'

interface EdgeError {
  readonly message: string
  readonly status: number
}

type EdgeCallbacks = Callbacks<{ readonly data: string }, EdgeError>

type NodesOutcome = Outcome<{ readonly data: string }, EdgeError>

interface NodesRequest extends EdgeCallbacks {
  /** `local`: the answer of `GET /mds/v1/nodes`; `account`: the `cipheredNodes` of a cluster that was opened as `local`. */
  readonly type?: string
  /** JSON text of `data` in that answer: a list of nodes, or a sealed list. */
  readonly data?: string
  /** Access token; without one, only a list that is not sealed can be read. */
  readonly token?: string
}

/** The runtime's answer to a sealed list and a token. */
interface OpenedNodes {
  readonly cluster: 'account' | 'proximity' | 'linkLocal'
  readonly accountId: string
  readonly nodes: readonly ListedNode[]
}

export interface EdgeParts {
  /** For requests to the runtime itself, by path. */
  readonly runtimeFetch: typeof globalThis.fetch
  /** Path that opens sealed lists. */
  readonly openNodesPath: string
}

export function createEdge({ runtimeFetch, openNodesPath }: EdgeParts) {
  const request = createHttpRequest(runtimeFetch)

  function open(sealed: unknown, { type, token }: NodesRequest, outcome: NodesOutcome) {
    request({
      type: 'POST',
      url: openNodesPath,
      headers: { 'Content-Type': 'application/json' },
      data: { type, token: String(token ?? ''), sealed },
      success: ({ data }) =>
        answer(outcome, () => {
          const opened = parse(data) as OpenedNodes
          return type === 'account' ? opened.nodes.map(familyNode) : clusterOf(opened, sealed)
        }),
      error: ({ message, status, content }) =>
        outcome.fail({ message: detailOf(content) ?? message, status }),
    })
  }

  return {
    decryptEncryptedNodesJson(asked: NodesRequest): void {
      const outcome = callOnce(asked ?? {})
      const { type, data } = asked ?? {}
      const value = read(data)
      if (type !== 'local' && type !== 'account')
        outcome.fail({
          message: 'decryptEncryptedNodesJson: "type" must be "local" or "account"',
          status: 400,
        })
      else if (Array.isArray(value)) answer(outcome, () => plainCluster(type, value))
      else if (typeof value === 'object' && value !== null) open(value, asked, outcome)
      else
        outcome.fail({
          message: 'decryptEncryptedNodesJson: "data" must be the "data" of GET /mds/v1/nodes, as JSON text',
          status: 400,
        })
    },
    /** There is no relay that a bearer end point could be at. */
    requestBep(asked?: EdgeCallbacks): void {
      callOnce(asked ?? {}).fail({
        message:
          'requestBep: this runtime has no relay, and so no bearer end point; call the addresses of the node',
        status: 501,
      })
    },
  }
}

/** Answers with a list, or with an error if it cannot be read. */
function answer(outcome: NodesOutcome, read: () => unknown): void {
  try {
    outcome.succeed({ data: stringify(read()) })
  } catch (cause) {
    outcome.fail({ message: `the list of nodes cannot be read: ${messageOf(cause)}`, status: 400 })
  }
}

function read(data: unknown): unknown {
  try {
    return parse(String(data))
  } catch {
    return undefined
  }
}

/** The reason in an error of the runtime. */
function detailOf(content: string): string | undefined {
  const { error: { message } = {} } = (read(content) ?? {}) as { error?: { message?: unknown } }
  return typeof message === 'string' ? message : undefined
}

/** The members that services read, by cluster. */
function clusterOf({ cluster, accountId, nodes }: OpenedNodes, sealed: unknown): object {
  if (cluster === 'account') return { account: { accountId, cipheredNodes: sealed } }
  const mapped = { nodes: nodes.map(familyNode) }
  return cluster === 'proximity' ? { proximity: mapped } : { localLinkNetwork: mapped }
}

const plainCluster = (type: 'local' | 'account', nodes: readonly ListedNode[]): object =>
  type === 'account' ? nodes.map(familyNode) : { localLinkNetwork: { nodes: nodes.map(familyNode) } }
