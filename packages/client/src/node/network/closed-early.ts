/**
 * Connections that are closed before their answer begins. One that was reused may have been closed by the other side, or by a proxy or a
 * router between them, in the very instant in which the request was sent: then the request may be sent again, if that is safe (RFC 9110
 * § 9.2.2, RFC 9112 § 9.3.1).
 */
import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'

const codes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

interface Listeners {
  /** Called with an error that has no other listener yet. */
  readonly onClosed: (cause: Error, socket: Socket) => void
  /** Called after that for a connection that was reused. */
  readonly onReusedClosed: () => void
}

/** To be called before the request has a connection. */
export function noteClosings(request: ClientRequest, { onClosed, onReusedClosed }: Listeners): void {
  // A listener for the answer itself would keep Node from discarding one that nothing reads.
  let receivedBefore: number | undefined
  request.once('socket', (socket) => {
    receivedBefore = socket.bytesRead
  })
  request.prependListener('error', (cause: NodeJS.ErrnoException & { wasReused?: true }) => {
    const { socket } = request
    // A connection that could not be opened has an error of its own.
    if (receivedBefore === undefined || !socket || socket.bytesRead !== receivedBefore) return
    if (!codes.has(cause.code)) return
    onClosed(cause, socket)
    if (!request.reusedSocket) return
    cause.wasReused = true
    onReusedClosed()
  })
}
