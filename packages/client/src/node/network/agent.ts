/** Agents with connections of our own: they go through proxies, and are opened by the rules of RFC 8305. */
import { Agent, type AgentOptions } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { https } from '../https.ts'

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

/** For requests to URLs of one protocol. @param open opens the connections */
export function createAgent(settings: AgentOptions, isSecure: boolean, open: Open): OpeningAgent {
  const agent = isSecure ? new (https().Agent)(settings) : new Agent(settings)
  const opening = new Set<AbortController>()
  const destroy = agent.destroy.bind(agent)
  agent.destroy = () => {
    for (const each of opening)
      each.abort(Object.assign(new Error('it was given up'), { code: 'ECONNRESET' }))
    destroy()
  }
  const reused = new WeakSet<object>()
  const reuse = agent.reuseSocket.bind(agent)
  agent.reuseSocket = (socket, request) => {
    reused.add(socket)
    reuse(socket, request)
  }
  const destroyReused = () => {
    const waiting = Object.values(agent.freeSockets).flat()
    const used = Object.values(agent.sockets).flat()
    for (const each of [...waiting, ...used.filter((socket) => socket && reused.has(socket))]) each?.destroy()
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
