/** Services with answers and WebSockets that never end: they use up no more connections than one service may have. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { attach, createHttpServer } from '@selvedge/service-kit/http'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, expect, it } from 'vitest'
import { createGateway, type GatewayParts } from './gateway.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0).reverse()) end()
})

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

/** A gateway with two public services, at /one and /two, that begin every answer and never end it. */
async function serve(maxOpen: number) {
  const services = new Set<Socket>()
  const upstream = createServer((socket) => {
    services.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (request) =>
      socket.write(
        String(request).toLowerCase().includes('upgrade: websocket')
          ? `HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`
          : 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n',
      ),
    )
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const routeOf = (id: string) => {
    const running = {
      instance: { upstream: { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port } },
      plan: { content: { kind: 'oci' }, settings: {} },
      ...{ requests: createWorkCount(), unanswered: createLimitedWork(), lastUsed: 0 },
    }
    const settings = { 'MCM.MAX_EXECUTION_TIME_SEC': 60, 'MCM.PAGES': 'none' }
    return { id, container: { accountId: 'a' }, settings, service: { acquire: () => running } }
  }
  const routes = new Map(['/one', '/two'].map((prefix) => [prefix, routeOf(prefix)]))
  const gateway = createGateway({
    maxOpen,
    routes: { find: (path: string) => ({ route: routes.get(path), prefix: path, rest: '/' }) },
    admit: () => undefined,
    accountId: () => 'a',
    lasting: { watch: () => () => undefined },
    now: () => performance.now(),
    nonce: () => '',
    onInternalError: () => 'error-1',
  } as unknown as GatewayParts)
  const server = createHttpServer({})
  attach(server, { request: gateway.handle, upgrade: gateway.handleUpgrade })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.push(() => {
    server.close()
    gateway.close()
    for (const socket of services) socket.destroy()
    upstream.close()
  })
  /** @returns the status of the answer, and the connection */
  return async (path: string, headers = '') => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    ending.push(() => client.destroy())
    client.on('error', () => undefined)
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
    const [answer] = await once(client, 'data')
    return { status: Number(String(answer).split(' ')[1]), client }
  }
}

it.each([
  ['WebSockets', upgrade, 101],
  ['answers', '', 200],
])('one service has a limited number of open %s, and another one is reached', async (_, headers, status) => {
  const ask = await serve(3)
  const first = await ask('/one', headers)
  expect(first.status).toBe(status)
  for (let at = 0; at < 2; at++) expect((await ask('/one', headers)).status).toBe(status)
  for (const further of [headers, upgrade, '']) expect((await ask('/one', further)).status).toBe(503)
  expect((await ask('/two', headers)).status).toBe(status)
  first.client.destroy()
  await expect.poll(async () => (await ask('/one', headers)).status).toBe(status)
})
