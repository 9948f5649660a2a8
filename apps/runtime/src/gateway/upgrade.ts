/** WebSockets: the handshake passes through the gateway, then the two sides speak to each other. */
import { type ClientRequest, request as httpRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { linesOf, responseHeaders } from './headers.ts'
import { countRequest, type Passage } from './proxy.ts'

/** @param head what came behind the request already */
export function passUpgrade(
  socket: Duplex,
  head: Buffer,
  { running, path, headers, limitMs, sandboxed }: Passage,
  now: () => number,
): void {
  const end = countRequest(running, now)
  const outgoing: ClientRequest = httpRequest({
    ...running.instance.upstream,
    agent: false,
    path,
    headers: [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
  })
  const close = () => {
    clearTimeout(limit)
    end()
    outgoing.destroy()
    socket.destroy()
  }
  const limit = setTimeout(close, limitMs)
  socket.on('error', close)
  socket.on('close', close)
  outgoing.on('error', () => {
    if (!socket.destroyed)
      socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  outgoing.on('upgrade', (incoming, upstream, upstreamHead) => {
    clearTimeout(limit)
    upstream.on('error', close)
    upstream.on('close', close)
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
    socket.write(`${answer}${linesOf(responseHeaders(incoming.rawHeaders, false))}\r\n`)
    if (upstreamHead.length > 0) socket.write(upstreamHead)
    if (head.length > 0) upstream.write(head)
    upstream.pipe(socket)
    socket.pipe(upstream)
  })
  // Not upgraded: the answer is passed on and the connection ends, so that nothing can follow it past the token check.
  outgoing.on('response', (incoming) => {
    const kept = responseHeaders(incoming.rawHeaders, sandboxed)
    const framed = kept.filter((_, at) => kept[at - (at % 2)]!.toLowerCase() !== 'content-length')
    socket.write(
      `HTTP/1.1 ${incoming.statusCode} ${incoming.statusMessage}\r\nConnection: close\r\n${linesOf(framed)}\r\n`,
    )
    incoming.pipe(socket)
  })
  outgoing.end()
}
