/** JSON-RPC over WebSocket (RFC 6455): which handshakes are accepted, how many connections there are, and when they end. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import type { Dispatcher } from '@selvedge/protocol/jsonrpc'
import type { ServerOptions, WebSocketServer } from 'ws'
import type { GuardedHeaders, Refusal } from '../http/guard.ts'
import { busyMessage, type LoadShedder } from '../http/load-shedder.ts'
import { createOneATurn } from '../http/one-a-turn.ts'
import { refuseUpgrade } from '../http/refuse-upgrade.ts'
import { requestIdOf } from '../http/request-id.ts'
import type { CallContext } from '../http/rpc-call.ts'
import { pathOf } from '../http/target.ts'
import { inBackground, safely } from '../safely/safely.ts'
import { shareResult } from '../share/share.ts'
import { createLargeMessages } from './large-messages.ts'
import { RpcSocket, type RpcSocketParts, type SocketContext } from './rpc-socket.ts'
import { maxFragments, maxPieces, type SocketLimits, socketLimits } from './socket-limits.ts'
import { createSocketSet } from './socket-set.ts'

export interface RpcSocketsOptions {
  readonly dispatcher: Dispatcher<CallContext>
  readonly shedder: LoadShedder
  /** Whether the dispatcher measures how long calls take. Default false. */
  readonly isMeasured?: boolean
  /** Runs the parsing of large messages; the listeners of one process share it. */
  readonly oneATurn?: (work: () => void) => void
  /** The next DPoP nonce, for handshakes with a proof (RFC 9449 § 9). */
  readonly nonce?: () => string
  /** Refuses a handshake without the API key. @throws RpcError */
  readonly expectKey?: (authorization: string | undefined) => void
  /** Whether the daemon is about to stop: then handshakes are refused. */
  readonly isDraining?: () => boolean
  readonly limits?: Partial<SocketLimits>
}

/** A request for a WebSocket that the guard of its listener has let through. */
interface Handshake {
  readonly request: IncomingMessage
  readonly socket: Socket
  /** Bytes that came behind the request. */
  readonly head: Buffer
  readonly headers: GuardedHeaders
  readonly overTls: boolean
}

/** The WebSockets of all listeners of a daemon. */
export interface RpcSockets {
  upgrade(handshake: Handshake): void
  /** Accepts no more, answers the calls under way, and ends all connections. */
  close(): Promise<void>
}

export function createRpcSockets(options: RpcSocketsOptions): RpcSockets {
  const { dispatcher, shedder, isMeasured = false, oneATurn = createOneATurn(), expectKey, nonce } = options
  const { isDraining = () => false } = options
  const limits = { ...socketLimits(), ...options.limits }
  const sockets = createSocketSet(limits)
  const parts: RpcSocketParts = {
    ...{ dispatcher, isMeasured, shedder, oneATurn, limits },
    large: createLargeMessages(limits.largeMessages, sockets.evictReceiving),
    onUse: sockets.touch,
    onCaller: sockets.setCaller,
    onClosed: sockets.remove,
  }
  const load = shareResult(() => loadServer(limits, nonce), 'load ws')
  let server: WebSocketServer | undefined
  let isClosed = false

  function accept(handshake: Handshake, by: WebSocketServer): void {
    const { request, socket, head } = handshake
    // It may have gone while the library was loaded.
    if (socket.destroyed) return
    if (isClosed || !sockets.makeRoom()) {
      refuseUpgrade(request, socket, busy)
      return
    }
    by.handleUpgrade(request, socket, head, (ws) => {
      sockets.add(new RpcSocket(ws, contextOf(handshake), parts))
    })
  }

  async function acceptFirst(handshake: Handshake): Promise<void> {
    try {
      server = await load()
      accept(handshake, server)
    } catch (cause) {
      handshake.socket.destroy()
      throw cause
    }
  }

  return {
    upgrade(handshake) {
      const { request, socket, headers } = handshake
      const refused =
        isClosed || isDraining() ? busy : (versionRefusal(request) ?? keyRefusal(headers, expectKey))
      socket.on('error', () => socket.destroy())
      if (refused) refuseUpgrade(request, socket, refused, refused.headers)
      else if (server) accept(handshake, server)
      else inBackground('websocket.load', acceptFirst(handshake))
    },
    close() {
      isClosed = true
      return sockets.close()
    },
  }
}

async function loadServer(limits: SocketLimits, nonce: (() => string) | undefined): Promise<WebSocketServer> {
  const { WebSocketServer: Server } = await import('./ws.lazy.ts')
  const settings: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    // Compression would cost memory for each connection, and one short message could become many megabytes.
    perMessageDeflate: false,
    maxPayload: limits.messageBytes,
    maxFragments,
    maxBufferedChunks: maxPieces,
    // One message a turn of the event loop: what a client sends at once does not stop the others.
    allowSynchronousEvents: false,
    closeTimeout: limits.closeMs,
    // Without it the library would accept the first protocol of the client, whatever that is.
    handleProtocols: () => false,
  }
  const server = new Server(settings)
  const addHeaders = (lines: string[], request: IncomingMessage) => {
    lines.push(`X-Request-Id: ${requestIdOf(request)}`)
    if (request.headers.dpop !== undefined && nonce) lines.push(`DPoP-Nonce: ${nonce()}`)
  }
  return server.on('headers', safely('websocket.headers', addHeaders))
}

/** It lasts as long as the connection, so it does not refer to the request. */
const contextOf = ({ request, socket, headers, overTls }: Handshake): SocketContext => ({
  authorization: headers.authorization,
  dpop: headers.dpop,
  host: headers.host!,
  method: 'GET',
  path: pathOf(request),
  ...{ overTls, socket },
  request: { rawHeaders: ['X-Request-Id', requestIdOf(request)] },
})

interface UpgradeRefusal extends Refusal {
  readonly headers?: readonly string[]
}

const busy: UpgradeRefusal = { status: 503, reason: 'busy', message: busyMessage }

/** Version 13 is the only one of RFC 6455; an earlier one names its origin in another header, which the guard does not read. */
function versionRefusal({ headers }: IncomingMessage): UpgradeRefusal | undefined {
  const version = headers['sec-websocket-version']
  if (version === '13') return undefined
  const message = `the version is ${JSON.stringify(version?.slice(0, 100) ?? '')}; send "Sec-WebSocket-Version: 13"`
  return {
    status: 426,
    reason: 'bad_request',
    message,
    headers: ['Sec-WebSocket-Version: 13', 'Upgrade: websocket'],
  }
}

function keyRefusal(
  { authorization }: GuardedHeaders,
  expectKey: RpcSocketsOptions['expectKey'],
): UpgradeRefusal | undefined {
  try {
    expectKey?.(authorization)
    return undefined
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause
    const { reason, message } = cause
    return { status: 401, reason, message, headers: ['WWW-Authenticate: Bearer'] }
  }
}
