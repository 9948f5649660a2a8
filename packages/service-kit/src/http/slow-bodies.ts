/** Ends requests whose body comes too slowly: for all paths of a server, so that none can forget it. */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { safely } from '../safely/safely.ts'

/** Bytes per second that a large body must bring, on average over `bodySeconds`. */
const slowestBytesPerSecond = 1024
/** Looks at all connections in the time of one limit; one timer serves them all. */
const looks = 6

/** What a connection is busy with. */
interface Arrival {
  request: Marked
  /** The request that the last look found here, the number of that look, and what the connection had read until then. */
  seen: IncomingMessage | undefined
  since: number
  bytes: number
}

/** A member of the request: a WeakSet of them cost 1.5 µs a request. */
const large = Symbol('large body')

interface Marked extends IncomingMessage {
  [large]?: true
}

/**
 * Declares that the body of a request may be large: it may take longer than `bodySeconds`, as long as it brings 1,024 bytes per
 * second. For uploads and for requests to services.
 */
export function allowLargeBody(request: Marked): void {
  request[large] = true
}

/** @param bodySeconds seconds in which the body of a request must have arrived; it may take a sixth longer */
export function endSlowBodies(server: Server, bodySeconds: number): void {
  const arrivals = new Map<Socket, Arrival>()
  let look = 0
  /** A body that waits here, unread, is not slow: its reader is. */
  const isFastEnough = (request: IncomingMessage, bytes: number): boolean =>
    request.readableLength > 0 || bytes >= slowestBytesPerSecond * bodySeconds

  // Each call of the API passes here: it writes one member, everything else is for the timer.
  const note = (request: IncomingMessage) => {
    const { socket } = request
    const arrival = arrivals.get(socket)
    if (arrival) {
      arrival.request = request
      return
    }
    arrivals.set(socket, { request, seen: undefined, since: 0, bytes: 0 })
    socket.once('close', () => arrivals.delete(socket))
  }
  server.on('request', safely('http.slow-bodies', note))

  const timer = setInterval(
    safely('http.slow-bodies', () => {
      look++
      for (const [socket, arrival] of arrivals) check(socket, arrival)
    }),
    (bodySeconds * 1000) / looks,
  ).unref()
  server.on('close', () => clearInterval(timer))

  function check(socket: Socket, arrival: Arrival): void {
    const { request, seen, since, bytes } = arrival
    if (request.complete || request.destroyed) return
    if (request === seen) {
      if (look - since < looks) return
      if (!request[large] || !isFastEnough(request, socket.bytesRead - bytes)) {
        request.destroy()
        return
      }
    }
    arrival.seen = request
    arrival.since = look
    arrival.bytes = socket.bytesRead
  }
}
