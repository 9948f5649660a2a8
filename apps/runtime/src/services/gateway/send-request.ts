/** Sends a request to an instance: its head, and its body as it arrives. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'
import { maxJoinedBytes } from './joined-writes.ts'

/** How the length of a request's body is given. */
export type BodyFraming = 'none' | 'length' | 'chunked'

/**
 * Sends the head, and the body no faster than the instance reads it.
 *
 * @param head with the empty line at its end
 * @param onSent called when the whole request was sent
 */
export function sendRequest(
  request: IncomingMessage,
  body: BodyFraming,
  socket: Socket,
  head: string,
  onSent: () => void,
): void {
  if (body === 'none') {
    socket.write(head, 'latin1')
    onSent()
  } else sendWithBody(request, socket, head, body === 'chunked', onSent)
}

/** Joins the head with the first part of the body if that is small: one system call less. */
function sendWithBody(
  request: IncomingMessage,
  socket: Socket,
  head: string,
  isChunked: boolean,
  onSent: () => void,
): void {
  let unsentHead = head
  const flushHead = () => {
    if (unsentHead !== '' && !socket.destroyed) socket.write(unsentHead, 'latin1')
    unsentHead = ''
  }
  const send = (chunk: Buffer) => {
    if (socket.destroyed) return
    let hasRoom: boolean
    if (chunk.length <= maxJoinedBytes) {
      const text = chunk.toString('latin1')
      const framed = isChunked ? `${chunk.length.toString(16)}\r\n${text}\r\n` : text
      hasRoom = socket.write(unsentHead + framed, 'latin1')
      unsentHead = ''
    } else {
      flushHead()
      if (isChunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
      hasRoom = socket.write(chunk)
      if (isChunked) socket.write('\r\n', 'latin1')
    }
    if (!hasRoom) pauseUntilDrained(request, socket)
  }
  const finish = () => {
    flushHead()
    if (isChunked && !socket.destroyed) socket.write('0\r\n\r\n', 'latin1')
    onSent()
  }
  const destroy = () => socket.destroy()
  setImmediate(safely('gateway.send-head', flushHead, destroy))
  request.on('data', safely('gateway.request-data', send, destroy))
  request.on('end', safely('gateway.request-end', finish, destroy))
}

/** Reads no more of a request until what it is written to has room. */
export function pauseUntilDrained(request: IncomingMessage, socket: Writable): void {
  request.pause()
  const resume = () => {
    socket.off('drain', resume)
    socket.off('close', resume)
    request.resume()
  }
  socket.on('drain', resume)
  socket.on('close', resume)
}
