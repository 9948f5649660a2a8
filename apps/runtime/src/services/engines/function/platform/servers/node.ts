/** As much of the servers of Node.js, as Deno has them, as this program uses. */
import type { ConnectOptions, NodeStream } from '../sockets/node.ts'

export interface ListenOptions extends Omit<ConnectOptions, 'port'> {
  readonly port?: unknown
  readonly fd?: number
  readonly signal?: AbortSignal
}

/** An `http.Server`, with the members with which its class is made. */
export interface NodeServer {
  _handle: unknown
  /** How many connections are open: `close` waits for them. */
  _connections: number
  _emitCloseIfDrained(): void
  listen(...given: unknown[]): this
  close(done?: () => void): this
  once(name: string, listener: () => void): this
  emit(name: string, ...given: unknown[]): boolean
  rawListeners(name: 'request'): ((request: object, response: object) => unknown)[]
}

export interface NodeHttp {
  readonly Server: { readonly prototype: NodeServer }
}

export interface NodeNetOfServers {
  _normalizeArgs(given: readonly unknown[]): readonly [ListenOptions, (() => void) | null]
}

/** A request of `node:http`. */
export interface NodeRequest {
  readonly socket: NodeStream
}
