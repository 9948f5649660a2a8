/** Ends requests whose body arrives too slowly, on all paths of a server: no handler has to do it. */
import type { IncomingMessage, Server } from 'node:http'
import { safely } from '../safely/safely.ts'
import type { Connection, Connections } from './connections.ts'

/** Bytes per second that a large body must bring, on average over `bodySeconds`. */
const slowestBytesPerSecond = 1024
/** Looks at all connections in the time of one limit; one timer serves them all. */
const looks = 6

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

/** Whether the body of a request was declared large. */
export const isLarge = (request: Marked): boolean => request[large] === true

/** @param bodySeconds seconds in which the body of a request must have arrived; it may take a sixth longer */
export function endSlowBodies(server: Server, { all }: Connections, bodySeconds: number): void {
  let look = 0
  /** A body that waits here, unread, is not slow: its reader is. */
  const isFastEnough = (request: IncomingMessage, bytes: number): boolean =>
    request.readableLength > 0 || bytes >= slowestBytesPerSecond * bodySeconds

  const timer = setInterval(
    safely('http.slow-bodies', () => {
      look++
      for (const connection of all.values()) check(connection)
    }),
    (bodySeconds * 1000) / looks,
  ).unref()
  server.on('close', () => clearInterval(timer))

  function check(connection: Connection): void {
    const { socket, request, seen, since, bytes } = connection
    if (!request || request.complete || request.destroyed) return
    if (request === seen) {
      if (look - since < looks) return
      if (!isLarge(request) || !isFastEnough(request, socket.bytesRead - bytes)) {
        request.destroy()
        return
      }
    }
    connection.seen = request
    connection.since = look
    connection.bytes = socket.bytesRead
  }
}
