import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { safely } from '../safely/safely.ts'

/** Requests of one connection that may wait for the answers before theirs; beyond it the connection is closed. */
const maxWaiting = 200

/** What waits on a connection with a request under way. A member of it: a WeakMap of them would cost 1.5 µs a request. */
const waiting = Symbol('waiting requests')

interface Line extends Socket {
  /** null: no other one waits. */
  [waiting]?: (() => void)[] | null | undefined
}

const beginNext = safely(
  'http.next-request',
  ({ socket }: IncomingMessage) => {
    const line: Line = socket
    const due = line[waiting]?.shift()
    if (!due) line[waiting] = undefined
    else if (!socket.destroyed) due()
  },
  (_cause, { socket }) => socket.destroy(),
)

/** One for all responses, since every request needs it. */
function onClose(this: ServerResponse): void {
  beginNext(this.req)
}

/** Whether a request of a connection is not answered yet. */
export const isAnswering = (socket: Line): boolean => socket[waiting] !== undefined

/**
 * Handles the requests of one connection one after the other. Node hands over all that a client sends at once (pipelining,
 * RFC 9112 § 9.3.2), and stores the answers to those behind the first: a client that does not read could make it store many.
 */
export function inTurn(handle: RequestListener): RequestListener {
  const begin: RequestListener = (request, response) => {
    response.on('close', onClose)
    handle(request, response)
  }
  return (request, response) => {
    const socket: Line = request.socket
    const line = socket[waiting]
    if (line === undefined) {
      socket[waiting] = null
      begin(request, response)
    } else if (line === null) socket[waiting] = [() => begin(request, response)]
    else if (line.length < maxWaiting) line.push(() => begin(request, response))
    else socket.destroy()
  }
}
