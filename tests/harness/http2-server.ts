/** The HTTP server of the runtime with HTTP/2, in the process of a test. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { attach, createHttpServer, type Limits } from '@selvedge/service-kit/http'
import { createWorkCount } from '@selvedge/service-kit/work'
import {
  createOpenHttp2,
  type SessionLimits,
  sessionLimits,
} from '../../apps/runtime/src/api/http2/session.ts'

export interface Http2TestServer {
  readonly port: number
  /** Requests that were handled, with what became of their bodies. */
  readonly requests: readonly SeenRequest[]
  /** Requests under way. */
  underWay(): number
  /** Connections that are open. */
  connections(): Promise<number>
  /** A client of Node.js. */
  connect(): ClientHttp2Session
  /** One request on a connection of its own, over HTTP/1.1. @returns its status */
  ask(): Promise<number>
  stop(): Promise<void>
}

interface SeenRequest {
  readonly request: IncomingMessage
  readonly body: () => string
  /** how its body is complete; undefined while it comes. */
  readonly outcome: () => 'whole' | 'cut' | undefined
}

const greet: RequestListener = (_request, response) => response.end('hello')

export async function startHttp2Server(
  handle: RequestListener = greet,
  limits: Partial<SessionLimits> = {},
  server: Limits = {},
  tls?: { readonly cert: string; readonly key: string },
): Promise<Http2TestServer> {
  const requests: SeenRequest[] = []
  const count = createWorkCount()
  const http2 = createOpenHttp2({ ...sessionLimits, ...limits })
  const listener = createHttpServer({ ...server, http2 }, tls)
  attach(listener, {
    request(request, response) {
      if (request.url === '/other') return void response.end('hello')
      let body = ''
      let outcome: 'whole' | 'cut' | undefined
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        outcome = 'whole'
      })
      request.on('close', () => {
        outcome ??= 'cut'
      })
      request.on('error', () => undefined)
      response.once('close', count.begin())
      requests.push({ request, body: () => body, outcome: () => outcome })
      handle(request, response)
    },
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const sessions: ClientHttp2Session[] = []
  return {
    port,
    requests,
    underWay: () => count.underWay,
    connections: () => new Promise((resolve) => listener.getConnections((_cause, open) => resolve(open))),
    connect() {
      const session = connect(`http://127.0.0.1:${port}`)
      session.on('error', () => undefined)
      sessions.push(session)
      return session
    },
    ask: async () => (await fetch(`http://127.0.0.1:${port}/other`)).status,
    async stop() {
      for (const session of sessions) session.destroy()
      const closed = new Promise((resolve) => listener.close(resolve))
      const { closeAllBeside } = await import('../../packages/service-kit/src/http/protocols.ts')
      closeAllBeside(listener)
      listener.closeAllConnections()
      await closed
    },
  }
}

export interface Http2TestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  readonly trailers: Readonly<Record<string, unknown>>
  /** Error code of the stream; 0: it is complete. */
  readonly code: number
}

/** One request of a client of Node.js. @param body is sent in these pieces */
export function request2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  ...body: readonly string[]
): Promise<Http2TestAnswer> {
  return new Promise((resolve) => {
    const stream = session.request(headers, { endStream: body.length === 0 })
    let head: Record<string, unknown> = {}
    let trailers: Record<string, unknown> = {}
    let text = ''
    stream.on('response', (given) => {
      head = given
    })
    stream.on('trailers', (given) => {
      trailers = given
    })
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    stream.on('error', () => undefined)
    stream.on('close', () =>
      resolve({
        status: Number(head[':status'] ?? 0),
        headers: head,
        body: text,
        trailers,
        code: stream.rstCode,
      }),
    )
    for (const piece of body) stream.write(piece)
    stream.end()
  })
}
