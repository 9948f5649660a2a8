/** Begins requests to other programs. */
import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { https } from './https.ts'
import { createNetwork, type Network } from './network/network.ts'

/** How a server is reached: by a Unix socket, or with the connections of an agent of {@link Network}. */
export type RequestWay =
  | { readonly socketPath: string; readonly agent: Agent | false }
  | { readonly agent: Agent; readonly socketPath?: never }

interface Reached {
  readonly socketPath?: string | undefined
  /** Absent: neither a proxy nor other authorities than those of Node. */
  readonly network?: Pick<Network, 'agentFor'> | undefined
}

/** For one request. Connections are reused only if there is a network. @param url of the server */
export function wayTo({ socketPath, network }: Reached, url: string): RequestWay {
  if (socketPath !== undefined) return { socketPath, agent: false }
  const agent = network
    ? network.agentFor(url, 'service')
    : createNetwork({ proxy: 'direct' }).agentFor(url, 'foreign')
  return { agent }
}

/** As `request` of `node:http` and `node:https`, but never with an agent of Node, which gives up each address after 250 ms. */
export function startRequest(
  url: string,
  options: RequestOptions & RequestWay,
  onResponse: (response: IncomingMessage) => void,
): ClientRequest {
  const start = url.startsWith('https:') ? https().request : httpRequest
  return start(url, options, onResponse)
}
