import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { safely } from '../safely/safely.ts'
import type { Refusal } from './guard.ts'
import { retryAfterSeconds } from './load-shedder.ts'
import { requestIdOf } from './request-id.ts'

/** Milliseconds for the client to read the refusal and to close. */
const lastBytesMs = 2000

/**
 * Refuses a request for a WebSocket on its own connection, which ends: a client that does not close it would hold it for ever.
 *
 * @param headers further lines
 */
export function refuseUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  { status, reason, message }: Refusal,
  headers: readonly string[] = [],
): void {
  const body = JSON.stringify({ error: { code: status, message, reason } })
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    'Connection: close',
    `X-Request-Id: ${requestIdOf(request)}`,
    ...(status === 503 ? [`Retry-After: ${retryAfterSeconds}`] : []),
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  socket.on('error', () => socket.destroy())
  const end = setTimeout(
    safely('http.refused-upgrade', () => socket.destroy()),
    lastBytesMs,
  )
  socket.once('close', () => clearTimeout(end))
  // What it sends is dropped: unread bytes would destroy the answer on its way.
  socket.resume()
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
