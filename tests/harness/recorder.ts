/** A server that plays a runtime and an identity service, and records everything that is sent to it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Recorder {
  /** Of the TCP listener; of a Unix socket: `http://localhost`. */
  readonly url: string
  /** Each request as text: request line, headers, body. */
  readonly received: string[]
  close(): Promise<void>
}

export interface RecorderOptions {
  /** Path of a Unix socket; left out: a free port of the loopback. */
  readonly at?: string
  /** URL that it gives as that of its services; left out: its own. */
  readonly names?: string
  /** Answers a JSON-RPC method; undefined: as a runtime would. */
  readonly play?: (method: string) => object | undefined
  /** Answers any other request. */
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => boolean
}

export async function startRecorder(options: RecorderOptions = {}): Promise<Recorder> {
  const { at } = options
  const received: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    received.push(`${request.method} ${request.url}\n${request.rawHeaders.join('\n')}\n${body}`)
    if (!options.answer?.(request, response)) answer(request, response, body, { url, ...options })
  })
  server.listen(at === undefined ? { host: '127.0.0.1', port: 0 } : { path: at })
  await once(server, 'listening')
  const url =
    at === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : 'http://localhost'
  return {
    url,
    received,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const nodeId = 'a'.repeat(56)

function answer(
  { url: path }: IncomingMessage,
  response: ServerResponse,
  body: string,
  { url: own, names: url = own, play }: RecorderOptions & { readonly url: string },
): void {
  const send = (json: object) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(json))
  }
  if (path === '/device_authorization') {
    send({
      device_code: 'device-code',
      user_code: 'BCDF-GHJK',
      verification_uri: `${url}/device`,
      verification_uri_complete: `${url}/device?user_code=BCDF-GHJK`,
      expires_in: 600,
      interval: 1,
    })
  } else if (path === '/token') {
    send({ access_token: 'a.b.c', token_type: 'Bearer', expires_in: 60, scope: 'openid' })
  } else if (path === '/jsonrpc/v1') {
    const { method } = JSON.parse(body) as { method: string }
    send({ jsonrpc: '2.0', id: 1, ...(play?.(method) ?? { result: resultOf(method, url) }) })
  } else {
    send({})
  }
}

function resultOf(method: string, url: string): object {
  if (method === 'getMe') return meOf(url)
  return method === 'getEdgeIdToken' ? { id_token: 'e.f.g' } : { id: 'x', data: [] }
}

function meOf(url: string): object {
  const service = { url, reachable: true, since: '2026-01-01T00:00:00.000Z' }
  return {
    nodeId,
    accountId: '',
    name: 'recorder',
    version: '0.1.0',
    linkLocalIp: '',
    time: { state: 'trusted', now: new Date().toISOString() },
    network: { identity: service, discovery: service },
    revocations: { checkedAt: null, issuedAt: null },
    notices: [],
    supports: [],
  }
}
