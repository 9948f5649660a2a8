/** The proxy of the gateway in front of a service that speaks HTTP/2, in the process of a test. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import type { Running } from '../../apps/runtime/src/services/containers/instances.ts'
import { acceptsTrailers } from '../../apps/runtime/src/services/gateway/accepts-trailers.ts'
import { createProxy } from '../../apps/runtime/src/services/gateway/proxy.ts'
import { type Http2TestServer, startHttp2Server } from './http2-server.ts'

export interface Http2Proxy {
  readonly server: Http2TestServer
  /** What the proxy wrote to the log of the container. */
  readonly lines: readonly string[]
  /** Requests that count as under way at the instance. */
  underWay(): number
  /** Calls the runtime; its counts as `underWay`. */
  stop(): Promise<void>
}

/** @param port of the service @param limitMs in which an answer must begin */
export async function startHttp2Proxy(port: number, limitMs = 20_000): Promise<Http2Proxy> {
  const lines: string[] = []
  const running = {
    instance: { upstream: { host: '127.0.0.1', port } },
    plan: { log: (_: string, text: string) => lines.push(text) },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const proxy = createProxy(() => performance.now())
  const server = await startHttp2Server((incoming: IncomingMessage, response) => {
    incoming.removeAllListeners('data')
    proxy.pass(incoming, response, {
      running,
      path: incoming.url!,
      headers: ['Host', 'service', 'X-Own', '1', ...contentOf(incoming)],
      sandboxed: false,
      speaksHttp2: true,
      wantsTrailers: acceptsTrailers(incoming.headers.te),
      isOfEvents: false,
      requestId: 'id-1',
      limitMs,
      onOverrun: () => undefined,
      endWithCaller: () => () => undefined,
    })
  })
  return {
    server,
    lines,
    underWay: () => running.requests.underWay,
    async stop() {
      proxy.close()
      await server.stop()
    },
  }
}

const contentOf = ({ headers }: IncomingMessage): string[] =>
  headers['content-type'] === undefined ? [] : ['Content-Type', headers['content-type']]

export interface Http2Service {
  readonly port: number
  readonly server: Http2Server
  /** Connections that it accepted. */
  connections(): number
  stop(): void
}

/** A service of Node's own server. */
export async function startHttp2Service(
  onStream: (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void,
  options = {},
): Promise<Http2Service> {
  const server = createServer(options)
  let connections = 0
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => {
    connections++
    sessions.add(session)
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    onStream(stream, headers)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    server,
    connections: () => connections,
    stop() {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
}
