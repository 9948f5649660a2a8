/** Ends requests with a body that arrives too slowly, on all paths of a server: no handler has to do it. */
import type { IncomingMessage, Server } from 'node:http'
import { safely } from '../safely/safely.ts'
import type { Connection, Connections } from './connections.ts'
import { isLarge } from './large-body.ts'
import { isHttp2Stream } from './protocols.ts'

/** Bytes per second that a large body must bring, on average over `bodySeconds`. */
const slowestBytesPerSecond = 1024
/** Checks of all connections within the time limit; one timer serves them all. */
const looks = 6

/** @param bodySeconds seconds in which the body of a request must have arrived; it may take a sixth longer */
export function endSlowBodies(server: Server, { all }: Connections, bodySeconds: number): void {
  let look = 0
  /** If data waits unread, the reader is slow, not the client. */
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
    const { socket, request, response, seen, since, bytes } = connection
    if (!request || request.complete || request.destroyed) return
    // Both sides of a stream of HTTP/2 may send when they have something: its answer has begun, and has limits of its own.
    if (isHttp2Stream(socket) && isLarge(request) && response?.headersSent) return
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
