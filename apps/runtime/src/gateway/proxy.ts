/** Passes requests on to instances, as they come: nothing is held back, nothing is kept. */
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import type { Running } from '../containers/service.ts'
import { responseHeaders } from './headers.ts'
import { sendRefusal } from './refusal.ts'

export interface Passage {
  readonly running: Running
  /** Path and query for the service. */
  readonly path: string
  readonly headers: readonly string[]
  readonly sandboxed: boolean
  /** Milliseconds in which the answer must begin. */
  readonly limitMs: number
  readonly onOverrun: () => void
}

export interface Proxy {
  pass(request: IncomingMessage, response: ServerResponse, passage: Passage): void
  passUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, passage: Passage): void
  close(): void
}

const bodiless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

export function createProxy(now: () => number): Proxy {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo' })

  function begin({ running }: Passage): () => void {
    running.requests++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      running.requests--
      running.lastUsed = now()
    }
  }

  function pass(request: IncomingMessage, response: ServerResponse, passage: Passage, attempt = 1): void {
    const end = begin(passage)
    const { running, path, headers, sandboxed, limitMs, onOverrun } = passage
    const { method = 'GET' } = request
    const length = request.headers['content-length']
    const hasBody = length !== undefined || request.headers['transfer-encoding'] !== undefined
    const framing = !hasBody
      ? []
      : length !== undefined
        ? ['Content-Length', length]
        : ['Transfer-Encoding', 'chunked']
    const outgoing = httpRequest({
      ...running.instance.upstream,
      agent,
      method,
      path,
      headers: [...headers, ...framing],
    })
    let hasOverrun = false
    const limit = setTimeout(() => {
      hasOverrun = true
      outgoing.destroy()
      fail(
        response,
        504,
        'timeout',
        `the service did not begin its answer within ${limitMs / 1000} s (MCM.MAX_EXECUTION_TIME_SEC)`,
      )
      onOverrun()
    }, limitMs)
    const finish = () => {
      clearTimeout(limit)
      end()
    }
    outgoing.on('response', (incoming) => {
      clearTimeout(limit)
      response.writeHead(
        incoming.statusCode!,
        incoming.statusMessage,
        responseHeaders(incoming.rawHeaders, sandboxed),
      )
      incoming.on('error', () => response.destroy())
      incoming.on('aborted', () => response.destroy())
      incoming.pipe(response)
    })
    outgoing.on('error', (cause) => {
      finish()
      if (hasOverrun || response.destroyed) return
      // A kept connection may have ended on the other side just now: what was not begun is asked once more.
      if (outgoing.reusedSocket && !hasBody && bodiless.has(method) && !response.headersSent && attempt === 1)
        return pass(request, response, passage, 2)
      running.plan.log('runtime', `no answer for ${method} ${path.split('?', 1)[0]}: ${cause.message}`)
      fail(
        response,
        502,
        'bad_gateway',
        'the service broke the connection, or answered with something that is not HTTP',
      )
    })
    response.on('close', () => {
      finish()
      if (!response.writableFinished) outgoing.destroy()
    })
    if (hasBody) request.pipe(outgoing)
    else outgoing.end()
  }

  return {
    pass,
    passUpgrade(_request, socket, head, passage) {
      const end = begin(passage)
      const { running, path, headers, limitMs } = passage
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
        const lines = responseHeaders(incoming.rawHeaders, false)
        let answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
        for (let at = 0; at < lines.length; at += 2) answer += `${lines[at]}: ${lines[at + 1]}\r\n`
        socket.write(`${answer}\r\n`)
        if (upstreamHead.length > 0) socket.write(upstreamHead)
        if (head.length > 0) upstream.write(head)
        upstream.pipe(socket)
        socket.pipe(upstream)
      })
      // Not upgraded: the answer is passed on and the connection ends, so that nothing can follow it past the token check.
      outgoing.on('response', (incoming) => {
        const lines = responseHeaders(incoming.rawHeaders, passage.sandboxed)
        let answer = `HTTP/1.1 ${incoming.statusCode} ${incoming.statusMessage}\r\nConnection: close\r\n`
        for (let at = 0; at < lines.length; at += 2)
          if (lines[at]!.toLowerCase() !== 'content-length') answer += `${lines[at]}: ${lines[at + 1]}\r\n`
        socket.write(`${answer}\r\n`)
        incoming.pipe(socket)
      })
      outgoing.end()
    },
    close: () => agent.destroy(),
  }
}

function fail(response: ServerResponse, status: number, reason: string, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  // What is left of the request's body has nowhere to go.
  response.setHeader('Connection', 'close')
  sendRefusal(response, { status, reason, message })
}
