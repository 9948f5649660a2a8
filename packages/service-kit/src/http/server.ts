/** The HTTP server of every daemon: what holds for all requests on all paths is decided here. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { safely } from '../safely/safely.ts'
import { inRequest } from '../trace/trace.ts'
import { type Connections, followConnections, maxConnectionsOf } from './connections.ts'
import { createEarlyEnd, type DrainLimits, drainDefaults } from './early-response.ts'
import type { Refusal } from './guard.ts'
import { inTurn, isAnswering } from './in-turn.ts'
import { type OpenHttp2, speakHttp2 } from './protocols.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import { sendJson } from './send-json.ts'
import { endSlowBodies } from './slow-bodies.ts'
import { toOriginForm } from './target.ts'

export interface Limits extends Partial<DrainLimits> {
  /**
   * Seconds in which the body of a request must have arrived; its headers have 15, or as many as the body if that is fewer.
   * Bodies that are declared large (`allowLargeBody`) need a minimum rate instead. Default: 30.
   */
  readonly bodySeconds?: number
  /** Connections that may be open at the same time. Default: by the descriptors that the process may have. */
  readonly connections?: number
  /** Whether the daemon is about to stop: then each connection closes after its answer. */
  readonly isDraining?: () => boolean
  /** Speaks HTTP/2 with clients that choose it. Absent: HTTP/1.1 alone. */
  readonly http2?: OpenHttp2
}

/**
 * What answers requests, and requests to speak WebSocket; without `upgrade` those are ordinary requests. Without `tunnel`, CONNECT
 * (RFC 9110 § 9.3.6) closes its connection.
 */
export interface Listener {
  readonly request: RequestListener
  readonly upgrade?: LeavesHttp
  readonly tunnel?: LeavesHttp
}

/** @param head bytes that came behind the request already */
type LeavesHttp = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * Creates an HTTP server. Slow bodies end, early answers close, a handler that throws refuses its request alone, and only
 * a GET of HTTP/1.1 for a WebSocket is an upgrade: any other request with an Upgrade header is answered without it (RFC 9110 § 7.8).
 *
 * @param tls PEM texts; without them the server speaks plain HTTP
 */
export function createHttpServer(
  { bodySeconds = 30, connections = maxConnectionsOf(), isDraining = () => false, http2, ...drain }: Limits,
  tls?: { readonly cert: string; readonly key: string },
): Server {
  const settings = {
    // Ours, since large bodies have another limit: Node's would end them.
    requestTimeout: 0,
    headersTimeout: Math.min(bodySeconds, 15) * 1000,
    connectionsCheckingInterval: Math.round(Math.min(bodySeconds / 6, 5) * 1000),
    keepAliveTimeout: 30_000,
    maxHeaderSize: 16 * 1024,
  }
  const create = (options: typeof settings & Pick<ServerOptions, 'shouldUpgradeCallback'>): Server =>
    tls
      ? // Loaded when it is needed: that takes 6 ms, and most listeners are on the loopback.
        process.getBuiltinModule('node:https').createServer({
          ...options,
          minVersion: 'TLSv1.2',
          ...(http2 && { ALPNProtocols: ['h2', 'http/1.1'] }),
          ...tls,
        })
      : createServer(options)
  const server: Server = create({
    ...settings,
    shouldUpgradeCallback: (request) => server.listenerCount('upgrade') > 0 && isWebSocket(request),
  })
  const endEarly = createEarlyEnd({ ...drainDefaults, ...drain })
  const followed = followConnections(server, connections)
  if (http2) {
    speakHttp2(server, tls !== undefined, {
      open: http2,
      isDraining,
      firstBytesMs: settings.headersTimeout,
      onSession: followed.carries,
    })
  }
  server.on(
    'request',
    safely('http.begin', (request: IncomingMessage, response: ServerResponse) => {
      followed.note(request, response)
      endEarly(response)
      if (isDraining()) response.shouldKeepAlive = false
    }),
  )
  connectionsOf.set(server, followed)
  endSlowBodies(server, followed, bodySeconds)
  return server
}

const connectionsOf = new WeakMap<Server, Connections>()

/**
 * Serves a listener, the requests of one connection one after the other. What it throws, or what a promise that it returns rejects
 * with, ends its own request.
 *
 * @param server of {@link createHttpServer}
 */
export function attach(server: Server, { request, upgrade, tunnel }: Listener): void {
  const onRequest = (incoming: IncomingMessage, response: ServerResponse): unknown =>
    toOriginForm(incoming) ? inRequest(response, () => request(incoming, response)) : refuseTarget(response)
  const handle = safely('http.request', onRequest, failRequest)
  server.on('request', safely('http.in-turn', inTurn(handle), failRequest))
  if (tunnel) leaveHttp(server, 'connect', tunnel)
  if (!upgrade) return
  leaveHttp(server, 'upgrade', (upgrading, socket, head) => {
    if (!toOriginForm(upgrading)) return refuseUpgrade(upgrading, socket, badTarget)
    return upgrade(upgrading, socket, head)
  })
}

/** Serves requests that end HTTP on their connection. */
function leaveHttp(server: Server, event: 'upgrade' | 'connect', open: LeavesHttp): void {
  const onEvent: LeavesHttp = (request, socket, head) => {
    // The answer to the request before would follow what the other protocol has sent.
    if (isAnswering(request.socket)) return void socket.destroy()
    connectionsOf.get(server)!.upgraded(request.socket)
    return open(request, socket, head)
  }
  server.on(
    event,
    safely('http.leave', onEvent, (_cause, _request, socket) => socket.destroy()),
  )
}

const badTarget: Refusal = {
  status: 400,
  reason: 'bad_request',
  message: 'the target of the request is neither a path nor a URL with http or https',
}

function refuseTarget(response: ServerResponse): void {
  const { status, reason, message } = badTarget
  response.setHeader('Connection', 'close')
  sendJson(response, status, JSON.stringify({ error: { code: status, message, reason } }))
}

function failRequest(_cause: unknown, _request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'Content-Length': 0, Connection: 'close' }).end()
}

const isWebSocket = ({ method, headers, httpVersion }: IncomingMessage): boolean =>
  method === 'GET' &&
  httpVersion === '1.1' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  headers['transfer-encoding'] === undefined &&
  Number(headers['content-length'] ?? 0) === 0
