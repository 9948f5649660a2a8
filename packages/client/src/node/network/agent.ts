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
}

export type Open = (target: Target) => Promise<Socket>

/** An agent of requests to URLs of one protocol, with connections from `open`. */
export function createAgent(settings: AgentOptions, isSecure: boolean, open: Open): Agent {
  const agent = isSecure ? new (https().Agent)(settings) : new Agent(settings)
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
    open(options as Target).then(hand, refuse)
    return undefined
  }
  return agent as Agent
}
