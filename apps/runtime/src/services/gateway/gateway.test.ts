/** Who reaches a service, and how many may. The services here begin every answer and never end it. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { attach, createHttpServer, maxConnectionsOf } from '@selvedge/service-kit/http'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, describe, expect, it } from 'vitest'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import { createGateway, type GatewayParts } from './gateway.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0).reverse()) end()
})

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

type Running = ReturnType<typeof runningAt>
const runningAt = (port: number, protocol?: string) => ({
  instance: { upstream: { host: '127.0.0.1', port } },
  plan: { content: { kind: 'oci' }, settings: { 'MCM.PROTOCOL': protocol }, log: () => undefined },
  ...{ requests: createWorkCount(), unanswered: createLimitedWork(), lastUsed: 0 },
})

interface Options extends Partial<GatewayParts> {
  /** Of both services. */
  readonly acquire?: (running: Running) => unknown
  readonly isStopped?: boolean
  readonly protocol?: string
  /** Whether the head of each answer is sent before the gateway gets the request. */
  readonly isBegun?: boolean
}

/** A gateway with two public services, at /one and /two. */
async function serve({ acquire = (running) => running, isStopped = false, ...more }: Options = {}) {
  const services = new Set<Socket>()
  /** The first line of each request that reached a service. */
  const seen: string[] = []
  const upstream = createServer((socket) => {
    services.add(socket)
    socket.on('close', () => services.delete(socket))
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      const request = String(data)
      seen.push(request.split(' HTTP', 1)[0]!)
      if (request.toLowerCase().includes('upgrade: websocket'))
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`)
      else if (request.includes('X-Whole')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      else socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const routeOf = (id: string) => {
    const running = runningAt((upstream.address() as AddressInfo).port, more.protocol)
    const settings = { 'MCM.MAX_EXECUTION_TIME_SEC': 60, 'MCM.PAGES': 'none' }
    const service = { acquire: () => acquire(running) }
    return { id, container: { accountId: 'a' }, settings, service, isStopped: () => isStopped }
  }
  const routes = new Map(['/one', '/two'].map((prefix) => [prefix, routeOf(prefix)]))
  const find = (path: string) => routes.has(path) && { route: routes.get(path), prefix: path, rest: '/' }
  const gateway = createGateway({
    routes: { find },
    admit: () => undefined,
    accountId: () => 'a',
    lasting: { watch: () => () => undefined },
    now: () => performance.now(),
    nonce: () => 'next-nonce',
    onInternalError: () => 'error-1',
    ...more,
  } as unknown as GatewayParts)
  const server = createHttpServer({})
  const gone: Promise<unknown>[] = []
  attach(server, {
    request(incoming, response) {
      if (more.isBegun) response.flushHeaders()
      gone.push(new Promise((resolve) => response.once('close', resolve)))
      gateway.handle(incoming, response)
    },
    upgrade(incoming, socket, head) {
      gone.push(new Promise((resolve) => socket.once('close', resolve)))
      gateway.handleUpgrade(incoming, socket, head)
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.push(() => {
    server.close()
    gateway.close()
    for (const socket of services) socket.destroy()
    upstream.close()
  })
  const send = (path: string, headers = '') => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    ending.push(() => client.destroy())
    client.on('error', () => undefined)
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
    return client
  }
  /** @returns the answer with its status, and the connection */
  const ask = async (path: string, headers = '') => {
    const client = send(path, headers)
    const text = String((await once(client, 'data'))[0])
    return { status: Number(text.split(' ')[1]), text, client }
  }
  return { ask, send, seen, gateway, gone, services }
}

it.each([
  ['WebSockets', upgrade, 101],
  ['answers', '', 200],
])('one service has a limited number of open %s, and another one is reached', async (_, headers, status) => {
  const { ask } = await serve({ maxOpen: 3 })
  const first = await ask('/one', headers)
  expect(first.status).toBe(status)
  for (let at = 0; at < 2; at++) expect((await ask('/one', headers)).status).toBe(status)
  for (const further of [headers, upgrade, '']) expect((await ask('/one', further)).status).toBe(503)
  expect((await ask('/two', headers)).status).toBe(status)
  first.client.destroy()
  await expect.poll(async () => (await ask('/one', headers)).status).toBe(status)
})

it('one service has at most half of the connections of a listener', async () => {
  const most = Math.floor(maxConnectionsOf() / 2)
  let underWay = most
  const acquire = (running: Running) => ({
    ...running,
    requests: { begin: running.requests.begin, underWay },
  })
  const { ask } = await serve({ acquire })
  expect((await ask('/one')).text).toMatch(/ 503 .*too many answers and WebSockets that are still open/s)
  underWay = most - 1
  expect((await ask('/one')).status).toBe(200)
})

describe.each([
  ['a request', '', 200],
  ['a WebSocket', upgrade, 101],
])('%s', (_, headers, status) => {
  const token = new RpcError('token_missing', 'send a token')
  const failed = new RpcError('container_failed', 'output of the service')
  const refuse = (cause: Error) => ({
    'at once': () => {
      throw cause
    },
    later: () => Promise.reject(cause),
  })

  it.each(['at once', 'later'] as const)('that is not let through (%s) reaches no service', async (when) => {
    const { ask, seen } = await serve({ admit: refuse(token)[when] })
    expect((await ask('/one', headers)).text).toMatch(/ 401 .*WWW-Authenticate: Bearer.*"token_missing"/s)
    expect(seen).toEqual([])
  })

  it('that is let through later reaches its service', async () => {
    const { ask } = await serve({ admit: async () => undefined as never })
    expect((await ask('/one', headers)).status).toBe(status)
  })

  it('for nothing that is there is refused', async () => {
    expect((await (await serve()).ask('/three', headers)).text).toMatch(/ 404 .*"not_found"/s)
  })

  it.each(['at once', 'later'] as const)(
    'that fails (%s) is answered with the ID of the error',
    async (when) => {
      const noted: unknown[] = []
      const { ask } = await serve({
        admit: refuse(new Error('a secret'))[when],
        onInternalError: (cause, { url }) => {
          noted.push([(cause as Error).message, url])
          return 'error-1'
        },
      })
      const { text } = await ask('/one', headers)
      expect(text).toMatch(/ 500 .*error-1.*"internal_error"/s)
      expect(text).not.toContain('a secret')
      expect(noted).toEqual([['a secret', '/one']])
    },
  )

  it.each([
    ['does not start', false, /"the service is down","reason":"container_failed"/],
    ['was stopped', true, /"the service is stopped","reason":"stopped"/],
  ])('for a service that %s is refused, without its output', async (_case, isStopped, expected) => {
    const { ask } = await serve({ acquire: refuse(failed).later, isStopped })
    const { status: refused, text } = await ask('/one', headers)
    expect(refused).toBe(503)
    expect(text).toMatch(expected)
    expect(text).not.toContain('output of the service')
  })

  it('waits for its service to start', async () => {
    const { ask } = await serve({ acquire: async (running) => running })
    expect((await ask('/one', headers)).status).toBe(status)
  })

  it('does not reach a service that cannot answer more, or that it did not wait for', async () => {
    const unanswered = { ...createLimitedWork(), hasRoom: () => false }
    const full = await serve({ acquire: (running) => ({ ...running, unanswered }) })
    expect((await full.ask('/one', headers)).text).toMatch(/ 503 .*more requests than it can answer/s)
    const start = Promise.withResolvers<void>()
    const acquire = async (running: Running) => {
      await start.promise
      return running
    }
    const late = await serve({ acquire })
    const client = late.send('/one', headers)
    await expect.poll(() => late.gone.length).toBe(1)
    client.resetAndDestroy()
    await late.gone[0]
    start.resolve()
    await manyTurns()
    expect([full.seen, late.seen]).toEqual([[], []])
  })
})

it('a service that speaks HTTP/2 gets no WebSockets', async () => {
  const { ask, seen } = await serve({ protocol: 'h2c' })
  expect((await ask('/one', upgrade)).text).toMatch(/ 501 .*h2c.*"unsupported_upgrade"/s)
  expect(seen).toEqual([])
})

it('a header names a service in place of the path; two of them name no service', async () => {
  const { ask, seen } = await serve()
  expect((await ask('/a.B/C', 'Selvedge-Service: /one\r\n')).status).toBe(200)
  expect((await ask('/a.B/C', 'Selvedge-Service: /one\r\nSelvedge-Service: /one\r\n')).status).toBe(404)
  expect(seen).toEqual(['GET /a.B/C'])
})

it('a refusal has the next nonce for a caller that sent a proof, and for no other', async () => {
  const admit = () => {
    throw new RpcError('use_dpop_nonce', 'another nonce')
  }
  const { ask } = await serve({ admit })
  expect((await ask('/one', 'DPoP: proof\r\n')).text).toContain('DPoP-Nonce: next-nonce')
  expect((await ask('/one')).text).not.toContain('DPoP-Nonce: ')
})

it.each(['token_missing', 'container_failed'] as const)(
  'an answer that has begun is cut off by a failure: %s',
  async (reason) => {
    const admit = () => {
      throw new RpcError(reason, 'x')
    }
    const { send } = await serve({ admit, isBegun: true })
    await once(send('/one', 'DPoP: proof\r\n').resume(), 'close')
  },
)

it('its connections to services end with it', async () => {
  const { ask, gateway, services } = await serve()
  expect((await ask('/one', 'X-Whole: 1\r\n')).status).toBe(200)
  expect(services.size).toBe(1)
  gateway.close()
  await expect.poll(() => services.size).toBe(0)
})
