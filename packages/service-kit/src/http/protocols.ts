/**
 * Which protocol a connection of a server speaks: HTTP/1.1, or HTTP/2 for clients that choose it, by ALPN over TLS and by the
 * preface otherwise (RFC 9113 § 3.2, § 3.3). Each stream of HTTP/2 is served as an HTTP/1.1 connection of the same server,
 * so that all checks and limits are the same for both.
 */
import type { Server } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { safely } from '../safely/safely.ts'

/** A connection that speaks HTTP/2. */
export interface Http2Connection {
  /** Whether it waits for its client: no stream is open. */
  isIdle(): boolean
  /** Accepts no further stream, and closes after the answers to those that are open. */
  close(): void
  /** Serves no further stream until `resume`; those that come meanwhile wait, within the limit of streams. */
  pause(): void
  resume(): void
  readonly destroyed: boolean
}

export interface Http2Options {
  /** Serves a stream, as a connection with one request of HTTP/1.1. */
  readonly serve: (stream: Duplex, session: Http2Connection) => void
  /** Whether the daemon is about to stop. */
  readonly isDraining: () => boolean
}

/**
 * Speaks HTTP/2 on a connection of which nothing was read, or on which what was read waits in its buffer. It ends the
 * connection when it fails.
 */
export type OpenHttp2 = (socket: Socket, options: Http2Options) => Http2Connection

/** The connections of a server that Node's HTTP server does not know. */
interface Beside {
  readonly sessions: Map<Socket, Http2Connection>
  /** Connections that have not sent enough to know their protocol. */
  readonly undecided: Set<Socket>
}

const besideOf = new WeakMap<Server, Beside>()
const sessionOf = new WeakMap<object, Http2Connection>()

/** Whether a connection of a server is a stream of HTTP/2: it carries one request, and ends without the others. */
export const isHttp2Stream = (socket: object): boolean => sessionOf.has(socket)

/** What a client sends its requests on: the connection of a stream of HTTP/2, else the socket itself. */
export const carrierOf = (socket: Socket): Pick<Socket, 'pause' | 'resume' | 'destroyed'> | Http2Connection =>
  sessionOf.get(socket) ?? socket

/** First bytes of a client that speaks HTTP/2 (RFC 9113 § 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const noBytes = Buffer.alloc(0)

export interface ProtocolOptions {
  readonly open: OpenHttp2
  readonly isDraining: () => boolean
  /** Milliseconds in which a client must have sent enough to know its protocol. */
  readonly firstBytesMs: number
  /** Called with each connection that speaks HTTP/2. */
  readonly onSession: (socket: Socket, session: Http2Connection) => void
}

/**
 * Lets a server speak HTTP/2 as well. Listeners of its connections that were added before get each connection, and each stream,
 * before it is served, and may end it.
 *
 * @param isTls whether it is a server of `node:https`; its option `ALPNProtocols` must offer `h2`
 */
export function speakHttp2(server: Server, isTls: boolean, options: ProtocolOptions): void {
  const event = isTls ? 'secureConnection' : 'connection'
  const serveHttp1 = server.listeners(event)[0] as (socket: Duplex) => void
  const beside: Beside = { sessions: new Map(), undecided: new Set() }
  besideOf.set(server, beside)
  const { open, isDraining, firstBytesMs, onSession } = options

  const openSession = (socket: Socket) => {
    const serve = (stream: Duplex, own: Http2Connection) => {
      sessionOf.set(stream, own)
      server.emit(event, stream)
    }
    const session = open(socket, { serve, isDraining })
    beside.sessions.set(socket, session)
    socket.once('close', () => beside.sessions.delete(socket))
    onSession(socket, session)
  }
  const http1 = (socket: Duplex) => serveHttp1.call(server, socket)
  const choose = (socket: Duplex) => {
    const isRefused = socket.destroyed || socket.writableEnded
    if (isRefused) socket.resume()
    else if (!(socket instanceof Socket)) http1(socket)
    else if (!isTls) sniff(socket, beside.undecided, firstBytesMs, { http1, http2: openSession })
    else if ((socket as TLSSocket).alpnProtocol === 'h2') openSession(socket)
    else http1(socket)
  }
  server.removeListener(event, serveHttp1)
  server.on(
    event,
    safely('http.protocol', choose, (_cause, socket) => socket.destroy()),
  )
}

interface Protocols {
  readonly http1: (socket: Socket) => void
  readonly http2: (socket: Socket) => void
}

/** Reads up to 24 bytes: HTTP/1.1 is served from the first byte on that is not of the preface. */
function sniff(
  socket: Socket,
  undecided: Set<Socket>,
  firstBytesMs: number,
  { http1, http2 }: Protocols,
): void {
  let head: Buffer = noBytes
  const destroy = () => socket.destroy()
  const forget = () => undecided.delete(socket)
  const onEnd = () => socket.end()
  const onLate = () => socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n', destroy)
  const onData = (chunk: Buffer) => {
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
    const length = Math.min(head.length, preface.length)
    const isPreface = head.compare(preface, 0, length, 0, length) === 0
    if (isPreface && length < preface.length) return
    socket.off('data', read).off('end', onEnd).off('timeout', onLate).off('error', destroy)
    socket.off('close', forget)
    socket.setTimeout(0)
    forget()
    socket.pause()
    socket.unshift(head)
    if (isPreface) http2(socket)
    else {
      http1(socket)
      socket.resume()
    }
  }
  const read = safely('http.first-bytes', onData, destroy)
  undecided.add(socket)
  socket.on('data', read)
  socket.on('end', onEnd)
  socket.on('timeout', onLate)
  socket.on('error', destroy)
  socket.on('close', forget)
  socket.setTimeout(firstBytesMs)
}

/** Ends the connections without a request that Node's HTTP server does not know; sessions end after their answers. */
export function closeIdleBeside(server: Server): void {
  const beside = besideOf.get(server)
  if (!beside) return
  for (const socket of beside.undecided) socket.destroy()
  for (const session of beside.sessions.values()) session.close()
}

/** Ends all connections that Node's HTTP server does not know. */
export function closeAllBeside(server: Server): void {
  const beside = besideOf.get(server)
  if (!beside) return
  for (const socket of beside.undecided) socket.destroy()
  for (const socket of beside.sessions.keys()) socket.destroy()
}
