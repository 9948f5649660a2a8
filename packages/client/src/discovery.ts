import {
  discoveryPaths,
  type FixInput,
  type FixReceipt,
  fixReceipt,
  type LastFix,
  lastFix,
  type NodeList,
  nodeList,
  type SessionRequest,
  type SessionResponse,
  sessionResponse,
  type Track,
  type TrackOptions,
  track,
} from '@selvedge/protocol'
import type { Prove } from './identity.ts'
import { read, sendWithProof, successOf } from './oauth.ts'
import { type CallOptions, type Connection, expectUrl, send } from './send.ts'

/** Signs one request of a session: the value of its Authorization header. */
export type AuthorizeRequest = (method: string, path: string, body: string) => string

/** A query for nodes. `radius` is in metres, `limit` is a number of nodes. */
export interface NodesQuery {
  readonly cluster: 'account' | 'proximity'
  readonly radius?: number | undefined
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

export interface DiscoveryClient {
  /** Starts a session for the node of the token. The proof must cover the body. @throws OAuthFailure | ConnectionFailure */
  beginSession(
    request: SessionRequest,
    edgeIdToken: string,
    prove: (nonce: string | undefined, body: string) => string,
    options?: CallOptions,
  ): Promise<SessionResponse>
  /** Reports the location of the node of the session; without fixes: a keep-alive. @throws OAuthFailure | ConnectionFailure */
  report(fixes: readonly FixInput[], authorize: AuthorizeRequest, options?: CallOptions): Promise<FixReceipt>
  /** Nodes of the account, or nearby. @throws OAuthFailure | ConnectionFailure */
  nodes(query: NodesQuery, authorize: AuthorizeRequest, options?: CallOptions): Promise<NodeList>
  /** A page of the track of a node of the account. @throws OAuthFailure | ConnectionFailure */
  track(
    nodeId: string,
    query: TrackOptions,
    authorize: AuthorizeRequest,
    options?: CallOptions,
  ): Promise<Track>
  /** The last fix of a node of the token's account. @throws OAuthFailure | ConnectionFailure */
  lastFix(nodeId: string, accessToken: string, options?: CallOptions): Promise<LastFix>
}

/**
 * A client of the discovery service for devices and their developers.
 *
 * @example
 * ```ts
 * import { createDiscoveryClient, isSelvedgeError } from '@selvedge/client'
 *
 * const discovery = createDiscoveryClient({ url: 'http://localhost:8085' })
 * const fix = await discovery.lastFix(process.env.NODE_ID!, process.env.ACCESS_TOKEN!).catch((error: unknown) => {
 *   if (isSelvedgeError(error) && error.reason === 'not_found') return undefined
 *   throw error
 * })
 * console.log(fix)
 * ```
 */
export function createDiscoveryClient(connection: Connection): DiscoveryClient {
  expectUrl(connection)
  const nonces: { current: string | undefined } = { current: undefined }
  const { url } = connection
  const get = async (path: string, Authorization: string, options?: CallOptions) =>
    successOf(url, await send(connection, { method: 'GET', path, headers: { Authorization } }, options))

  return {
    async beginSession(request, edgeIdToken, prove, options) {
      const body = JSON.stringify(request)
      const signed: Prove = (nonce) => prove(nonce, body)
      const reply = await sendWithProof(nonces, signed, (proof) => {
        const headers = () => ({
          'Content-Type': 'application/json',
          Authorization: `DPoP ${edgeIdToken}`,
          DPoP: proof(),
        })
        return send(
          connection,
          { method: 'POST', path: discoveryPaths.sessions, headers, body, isRepeatable: true },
          options,
        )
      })
      return read(url, sessionResponse, successOf(url, reply))
    },
    async report(fixes, authorize, options) {
      const body = JSON.stringify(fixes)
      const path = discoveryPaths.fixes
      const headers = () => ({
        'Content-Type': 'application/json',
        Authorization: authorize('POST', path, body),
      })
      const request = { method: 'POST', path, headers, body, isRepeatable: true }
      const reply = await send(connection, request, options)
      return read(url, fixReceipt, successOf(url, reply))
    },
    async nodes(query, authorize, options) {
      const path = discoveryPaths.nodes + searchOf(query)
      return read(url, nodeList, await get(path, authorize('GET', path, ''), options))
    },
    async track(nodeId, query, authorize, options) {
      const path = discoveryPaths.trackOf(nodeId) + searchOf(query)
      return read(url, track, await get(path, authorize('GET', path, ''), options))
    },
    lastFix: async (nodeId, accessToken, options) =>
      read(url, lastFix, await get(discoveryPaths.fixOf(nodeId), `Bearer ${accessToken}`, options)),
  }
}

/** The query of a URL from what is given; "" for nothing. */
function searchOf(query: NodesQuery | TrackOptions): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`
}
