/** WebSockets: the handshake passes through the gateway, then both sides speak to each other. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import { limitMessages, maxMessageBytes } from './client-messages.ts'
import { createClosableFrames } from './closable-frames.ts'
import { linesOf, responseHeaders } from './headers.ts'
import type { Passage } from './passage.ts'
import { countRequest } from './request-count.ts'
import { watchReader } from './unread-events.ts'

/** Milliseconds for the last bytes after one side has closed. */
const closeMs = 2000

/**
 * Passes a request for a WebSocket on. Each side is read no faster than the other one reads.
 *
 * @param socket of the client, with a listener of its errors
 * @param head bytes that came behind the request already
 */
export function passUpgrade(
  socket: Duplex,
  head: Buffer,
  { running, path, headers, limitMs, sandboxed, requestId, endWithCaller, isOfEvents }: Passage,
  now: () => number,
): void {
  // While the service was started, its caller may have gone: its "close" has been.
  if (socket.destroyed) return
  const count = countRequest(running, now)
  const outgoing: ClientRequest = httpRequest({
    ...running.instance.upstream,
    agent: false,
    path,
    headers: [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
  })
  let closing: NodeJS.Timeout | undefined
  let joined: Duplex | undefined
  let unwatch: () => void = () => undefined
  let unfollow: () => void = () => undefined
  const close = safely('gateway.close', () => {
    clearTimeout(limit)
    clearTimeout(closing)
    unwatch()
    unfollow()
    count.end()
    outgoing.destroy()
    // Once it was upgraded, the connection is no longer the request's.
    joined?.destroy()
    socket.destroy()
  })
  const limit = setTimeout(close, limitMs)
  /** A WebSocket does not continue in one direction: when one side has closed, the other has a moment to close, too. */
  const closeSoon = safely('gateway.close-soon', () => {
    closing ??= setTimeout(close, closeMs)
  })
  const frames = createClosableFrames()
  /** The client may not go on: it gets a close frame with the reason. */
  const end = ({ reason, message }: Reason) => {
    if (!joined) return close()
    socket.unpipe()
    frames.close(`${reason}: ${message}`)
    closeSoon()
  }
  unwatch = endWithCaller(end)
  let isAnswered = false
  const refuse = safely('gateway.refuse', () => {
    if (isAnswered) return close()
    socket.end(
      `HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\nContent-Length: 0\r\n\r\n`,
    )
  })

  const join = (incoming: IncomingMessage, upstream: Duplex, upstreamHead: Buffer) => {
    clearTimeout(limit)
    count.answered()
    joined = upstream
    upstream.on('error', close)
    upstream.on('end', closeSoon)
    socket.on('end', closeSoon)
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
    socket.write(
      `${answer}${linesOf(responseHeaders(incoming.rawHeaders, { sandboxed: false, requestId }))}\r\n`,
      'latin1',
    )
    frames.stream.write(upstreamHead)
    upstream.pipe(frames.stream).pipe(socket)
    const messages = messagesTo(upstream, running, isOfEvents, end)
    messages.write(head)
    socket.pipe(messages)
    if (isOfEvents) unfollow = watchReader(socket, close)
  }

  /** Not upgraded: the answer is passed on and the connection ends, so that nothing can follow it past the token check. */
  const passAnswer = (incoming: IncomingMessage) => {
    clearTimeout(limit)
    count.answered()
    const { statusCode = 0, statusMessage } = incoming
    // Node reads no statuses of more than three digits.
    if (statusCode < 200) return refuse()
    isAnswered = true
    incoming.on('error', close)
    const passed = responseHeaders(incoming.rawHeaders, { sandboxed, requestId })
    const framed = passed.filter((_, at) => passed[at - (at % 2)]!.toLowerCase() !== 'content-length')
    socket.write(
      `HTTP/1.1 ${statusCode} ${statusMessage}\r\nConnection: close\r\n${linesOf(framed)}\r\n`,
      'latin1',
    )
    incoming.pipe(socket)
  }

  socket.on('close', close)
  socket.on('finish', closeSoon)
  outgoing.on('error', refuse)
  outgoing.on('upgrade', safely('gateway.upgrade', join, close))
  outgoing.on('response', safely('gateway.upgrade-refused', passAnswer, refuse))
  outgoing.end()
}

type Reason = Pick<RpcError, 'reason' | 'message'>

/** Where the messages of a client go to reach a service. The libraries in OCI containers have limits of their own. */
function messagesTo(
  upstream: Duplex,
  { plan }: Running,
  isOfEvents: boolean,
  end: (why: Reason) => void,
): Duplex {
  if (plan.content.kind !== 'function') return upstream
  const maxBytes = isOfEvents ? maxMessageBytes.ofEvents : maxMessageBytes.ofFunctions
  const limited = limitMessages(maxBytes, () =>
    end({ reason: 'limit_exceeded', message: `a message may have ${maxBytes} bytes` }),
  )
  limited.pipe(upstream)
  return limited
}
