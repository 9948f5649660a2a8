/** `context.dispatchWebSocketEvent`: events for the clients that opened a WebSocket at `/ws/<clientId>/<base path>`. */
import { deno } from './deno.ts'
import { encode, stringify } from './own.ts'

export const eventLimits = {
  sockets: 256,
  /** Bytes of one event. */
  event: 256 * 1024,
  /** Bytes that may wait for a client that does not read; then it is disconnected. */
  unread: 1024 * 1024,
} as const

interface WebSocketEvent {
  readonly type?: unknown
  readonly message?: unknown
}

export interface EventSockets {
  /** Accepts a client. */
  accept(request: Request): Response
  /** Sends an event to every client. An event is sent at once: a call without one, which would send those that wait, does nothing. */
  dispatch(event?: WebSocketEvent | null): void
}

/** "Try again later" (IANA registry of close codes). */
const tryLater = 1013

export function createEventSockets(upgrade = deno.upgradeWebSocket): EventSockets {
  const sockets = new Set<WebSocket>()

  function send(socket: WebSocket, text: string): void {
    if (socket.readyState !== 1) return
    if (socket.bufferedAmount <= eventLimits.unread) socket.send(text)
    // It has its place until it is gone: what it did not read stays in memory as long.
    else socket.close(tryLater, 'events were not read')
  }

  return {
    accept(request) {
      if (sockets.size >= eventLimits.sockets)
        return Response.json(
          { error: { code: 503, reason: 'busy', message: `${eventLimits.sockets} clients are connected` } },
          { status: 503, headers: { 'Retry-After': '1' } },
        )
      const { socket, response } = upgrade(request)
      sockets.add(socket)
      const forget = () => void sockets.delete(socket)
      socket.addEventListener('close', forget)
      socket.addEventListener('error', forget)
      return response
    },
    dispatch(event) {
      if (event === undefined || event === null) return
      const { type, message } = event
      const text = stringify({
        type: String(type ?? ''),
        message: message === undefined ? '' : textOf(message),
      })
      const bytes = encode(text).length
      if (bytes > eventLimits.event)
        throw new RangeError(`an event may have ${eventLimits.event} bytes; this one has ${bytes}`)
      for (const socket of sockets) send(socket, text)
    },
  }
}

const textOf = (message: unknown): string => (typeof message === 'string' ? message : stringify(message))
