/** A small HTTP proxy on the loopback: it opens tunnels (CONNECT) to wherever the test leads a host. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Issued } from './authority.ts'

export interface ConnectProxy {
  readonly url: string
  /** Hosts with ports, in the order of the requests that were accepted. */
  readonly opened: readonly string[]
  /** Hosts with ports, in the order of all requests. */
  readonly requested: readonly string[]
  /** Closes all connections, and accepts others. */
  cut(): void
  close(): void
}

export interface ConnectProxyOptions {
  /** Port of the loopback that a host leads to; undefined: it is refused with 403. */
  readonly portOf: (host: string) => number | undefined
  /** `user:password` that each request needs. */
  readonly credentials?: string
  /** For a proxy that is reached by TLS, perhaps only with a certificate of an authority (PEM). */
  readonly tls?: Issued & { readonly clientAuthority?: string }
}

export async function startConnectProxy({
  portOf,
  credentials,
  tls,
}: ConnectProxyOptions): Promise<ConnectProxy> {
  const opened: string[] = []
  const requested: string[] = []
  const sockets = new Set<Socket>()
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const authority = tls?.clientAuthority
  const wanted = authority !== undefined && { ca: authority, requestCert: true, rejectUnauthorized: true }
  const server: Server = tls ? createTlsServer({ ...tls, ...wanted }) : createServer()
  server.on('tlsClientError', () => undefined)
  server.on('connect', (request, client: Socket) => {
    const target = request.url ?? ''
    requested.push(target)
    client.on('error', () => client.destroy())
    if (request.headers['proxy-authorization'] !== expected)
      return void client.end('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="test"\r\n\r\n')
    const port = portOf(target)
    if (port === undefined)
      return void client.end('HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<p>no')
    opened.push(target)
    const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      client.write('HTTP/1.1 200 Connection established\r\nX-Test: 1\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.destroySoon())
    client.on('close', () => upstream.destroy())
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    ...{ opened, requested, cut },
    close() {
      cut()
      server.close()
    },
  }
}
