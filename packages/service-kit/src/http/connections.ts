/**
 * The open connections of a server, streams of HTTP/2 among them, and their limit. When it is reached, the connections that wait for their client end, the
 * longest unused first: those between two requests, then those with an incomplete body. What is being answered, and large
 * bodies, go on; if nothing else is left, the new connection is refused. So a client that opens thousands of connections, or
 * sends its bodies slowly, costs a bounded number of descriptors and locks no other client out.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { reportFailure, safely } from '../safely/safely.ts'
import { isLarge } from './large-body.ts'
import { busyMessage, retryAfterSeconds } from './load-shedder.ts'
import { isHttp2Stream } from './protocols.ts'

/** What a connection is busy with. */
export interface Connection {
  readonly socket: Socket
  /** Its last request; undefined before the first. */
  request: IncomingMessage | undefined
  response: ServerResponse | undefined
  /** Whether it speaks another protocol than HTTP. */
  isUpgraded: boolean
  /** Whether no stream is open on it, if it speaks HTTP/2: its streams are connections of their own. */
  hasNoStream: (() => boolean) | undefined
  /** Number of the last use, of all uses of the server. */
  used: number
  /** For slow bodies: the request that the last look found, the number of that look, and the bytes that had come until then. */
  seen: IncomingMessage | undefined
  since: number
  bytes: number
}

export interface Connections {
  readonly all: ReadonlyMap<Socket, Connection>
  /** To be called with each request. */
  note(request: IncomingMessage, response: ServerResponse): void
  /** Marks a connection that does not speak HTTP any more: it ends when its listener ends it. */
  upgraded(socket: Socket): void
  /** Marks a connection that speaks HTTP/2. */
  carries(socket: Socket, session: { isIdle(): boolean }): void
}

/** Maximum connections of one server, even if the system allows more: each needs about 10 KB. */
const mostConnections = 4096
/** Descriptors for files, the database, functions and outgoing connections, and a part of the rest for each server. */
const reservedDescriptors = 64
const part = 1 / 4
/** Of the connections that wait for their client, this part is closed together, because finding them costs time. */
const evictedPart = 1 / 16

/** Other systems than Linux do not show their limits to Node.js, which has raised them to the maximum at its start. */
const ownLimits = process.platform === 'linux' ? '/proc/self/limits' : ''

/** Connections that one server of this process may have, by the descriptors that the process may have (`ulimit -n`). */
export function maxConnectionsOf(limitsFile = ownLimits): number {
  const descriptors = descriptorLimit(limitsFile) ?? mostConnections
  return Math.max(16, Math.min(mostConnections, Math.floor((descriptors - reservedDescriptors) * part)))
}

function descriptorLimit(limitsFile: string): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync(limitsFile, 'utf8'))?.[1]
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** Follows the connections of a server. @param max connections that may be open at the same time */
export function followConnections(server: Server, max: number): Connections {
  const all = new Map<Socket, Connection>()
  const isTls = 'setSecureContext' in server
  let uses = 0

  const add = (socket: Socket) => {
    if (all.size >= max && evict(all, max) === 0) return refuse(socket)
    const connection: Connection = {
      socket,
      request: undefined,
      response: undefined,
      isUpgraded: false,
      hasNoStream: undefined,
      used: ++uses,
      seen: undefined,
      since: 0,
      bytes: 0,
    }
    all.set(socket, connection)
    socket.once('close', () => all.delete(socket))
  }
  server.on(
    isTls ? 'secureConnection' : 'connection',
    safely('http.connection', add, (_cause, socket) => socket.destroy()),
  )
  // Handshakes under way are connections as well. Beyond it the system's call accepts and closes.
  server.maxConnections = isTls ? max * 2 : max + 1
  // A listener without free descriptors accepts connections again when there are some.
  const onError = (cause: Error) => {
    if (server.listening) reportFailure('http.accept', cause)
  }
  server.on('error', safely('http.accept', onError))

  return {
    all,
    // Each request passes here: it writes three members.
    note(request, response) {
      const connection = all.get(request.socket)
      if (!connection) return
      connection.request = request
      connection.response = response
      connection.used = ++uses
    },
    upgraded(socket) {
      const connection = all.get(socket)
      if (connection) connection.isUpgraded = true
    },
    carries(socket, session) {
      const connection = all.get(socket)
      if (connection) connection.hasNoStream = session.isIdle
    },
  }
}

function isIdle({ socket, request, response, isUpgraded, hasNoStream }: Connection): boolean {
  if (hasNoStream) return hasNoStream()
  if (isUpgraded) return false
  // The request of a stream of HTTP/2 has come with it.
  if (request === undefined) return !isHttp2Stream(socket)
  return request.complete && response?.writableFinished === true
}

const isBodyComing = ({ request, isUpgraded }: Connection): boolean =>
  !isUpgraded && request !== undefined && !request.complete && !isLarge(request)

/** Ends connections that wait for their client. @returns how many */
function evict(all: Map<Socket, Connection>, max: number): number {
  for (const isEvictable of [isIdle, isBodyComing]) {
    const found = [...all.values()].filter(isEvictable)
    if (found.length === 0) continue
    found.sort((one, other) => one.used - other.used)
    const evicted = found.slice(0, Math.max(1, Math.floor(max * evictedPart)))
    for (const { socket } of evicted) {
      // At once: others may come before it has closed.
      all.delete(socket)
      socket.destroy()
    }
    return evicted.length
  }
  return 0
}

function refuse(socket: Socket): void {
  const text = JSON.stringify({ error: 'temporarily_unavailable', error_description: busyMessage })
  socket.on('error', () => socket.destroy())
  socket.end(
    `HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: ${retryAfterSeconds}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    () => socket.destroy(),
  )
}
