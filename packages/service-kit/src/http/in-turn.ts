import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { safely } from '../safely/safely.ts'

/** Requests of one connection that may wait for the answers before theirs; beyond it the connection is closed. */
const maxWaiting = 200

/** What waits on a connection with a request under way. A member of it: a WeakMap of them would cost 1.5 µs a request. */
const waiting = Symbol('waiting requests')

interface Line extends Socket {
  [waiting]?: (() => void)[] | undefined
}

/**
 * Handles the requests of one connection one after the other. Node hands over all that a client sends at once (pipelining,
 * RFC 9112 § 9.3.2), and stores the answers to those behind the first: a client that does not read could make it store many.
 */
export function inTurn(handle: RequestListener): RequestListener {
  return (request, response) => {
    const socket: Line = request.socket
    const next = () => {
      const due = socket[waiting]?.shift()
      if (!due) socket[waiting] = undefined
      else if (!socket.destroyed) due()
    }
    const begin = () => {
      response.once(
        'close',
        safely('http.next-request', next, () => socket.destroy()),
      )
      handle(request, response)
    }
    const line = socket[waiting]
    if (!line) {
      socket[waiting] = []
      begin()
    } else if (line.length < maxWaiting) line.push(begin)
    else socket.destroy()
  }
}
