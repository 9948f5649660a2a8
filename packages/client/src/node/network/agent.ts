/** Agents with connections of our own: they go through proxies, and are opened by the rules of RFC 8305. */
import { Agent, type AgentOptions, type ClientRequest } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { https } from '../https.ts'
import { noteClosings } from './closed-early.ts'

/** The part of the options of a request that its agent gets. */
export interface Target {
  readonly host?: string | null
  readonly port?: number | string | null
  readonly servername?: string
  readonly lookup?: LookupFunction
  /** False: any certificate is accepted, of this connection alone. That of a proxy is always verified. */
  readonly rejectUnauthorized?: boolean
  /** For any protocol, not for HTTP alone. */
  readonly isTcp?: boolean
  /** Milliseconds until the connection must be open. */
  readonly timeoutMs?: number
  /** Gives up. */
  readonly signal?: AbortSignal
}

export type Open = (target: Target) => Promise<Socket>

export interface OpeningAgent extends Agent {
  /** Also gives up the connections that are being opened. It can be used again after that. */
  destroy(): void
  /** Closes the connections that wait for a request, and those that had waited before the request that they have. */
  destroyReused(): void
}

/** How Node hands a request to its agent, before it has a connection. */
type Adding = { addRequest(request: ClientRequest, options: Target): void }

/**
 * For requests to URLs of one protocol.
 *
 * @param open opens the connections
 * @param explain gets an error of a connection that was closed before any byte of the answer, and may change its message
 */
export function createAgent(
  settings: AgentOptions,
  isSecure: boolean,
  open: Open,
  explain?: (cause: Error, target: Target) => void,
): OpeningAgent {
  const agent = isSecure ? new (https().Agent)(settings) : new Agent(settings)
  const opening = new Set<AbortController>()
  const reused = new WeakSet<object>()
  const closedHere = new WeakSet<object>()
  const waitingNow = () => Object.values(agent.freeSockets).flat()
  const usedNow = () => Object.values(agent.sockets).flat()

  function close(sockets: readonly (Socket | undefined)[]): void {
    for (const each of sockets) {
      if (!each) continue
      closedHere.add(each)
      each.destroy()
    }
  }

  const destroy = agent.destroy.bind(agent)
  agent.destroy = () => {
    for (const each of opening)
      each.abort(Object.assign(new Error('it was given up'), { code: 'ECONNRESET' }))
    close([...waitingNow(), ...usedNow()])
    destroy()
  }
  const reuse = agent.reuseSocket.bind(agent)
  agent.reuseSocket = (socket, request) => {
    reused.add(socket)
    reuse(socket, request)
  }
  const destroyReused = () =>
    close([...waitingNow(), ...usedNow().filter((socket) => socket && reused.has(socket))])
  const adding = agent as unknown as Adding
  const add = adding.addRequest.bind(agent)
  adding.addRequest = (request, options) => {
    noteClosings(request, {
      onClosed(cause, socket) {
        if (!closedHere.has(socket)) explain?.(cause, options)
      },
      // What closed this one may have closed the others as well: the next request has a new one.
      onReusedClosed: () => close(waitingNow()),
    })
    add(request, options)
  }
  agent.createConnection = (options, callback) => {
    const refuse = (cause: unknown) => callback?.(cause as Error, undefined as never)
    const hand = (socket: Socket) => {
      try {
        callback?.(null, socket)
        // The connection waits after the answer of the proxy, until its request listens.
        setImmediate(() => socket.resume())
      } catch (cause) {
        socket.destroy(cause as Error)
      }
    }
    const given = new AbortController()
    opening.add(given)
    open({ ...(options as Target), signal: given.signal })
      .finally(() => opening.delete(given))
      .then(hand, refuse)
    return undefined
  }
  return Object.assign(agent, { destroyReused })
}
