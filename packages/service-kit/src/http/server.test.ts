import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../../tests/harness/certificate.ts'
import { needs } from '../../../../tests/harness/installed.ts'
import { opens } from '../../../../tests/harness/unread.ts'
import { caughtFailures } from '../safely/safely.ts'
import { readBody } from './body.ts'
import { allowLargeBody } from './large-body.ts'
import type { Http2Options, OpenHttp2 } from './protocols.ts'
import { attach, createHttpServer, type Limits, type Listener } from './server.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

async function serve(limits: Limits, request: RequestListener, more: Partial<Listener> = {}) {
  const server = createHttpServer(limits)
  attach(server, { request, ...more })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ending.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, server }
}

/** A connection that sends raw bytes, and what came back on it until it closed. */
function open(port: number, text: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  ending.push(() => socket.destroy())
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    answer += chunk
  })
  socket.write(text)
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(answer)))
  const saw = (part: string) =>
    new Promise<void>((resolve) => {
      const look = () => answer.includes(part) && resolve()
      socket.on('data', look)
      look()
    })
  return { socket, closed, saw, answer: () => answer }
}

const head = (headers: string) => `POST /x HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`
const get = (target: string, headers = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const webSocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const collect: RequestListener = (request, response) =>
  readBody(request, 1000, (body) => response.writeHead(body ? 200 : 413).end(String(body?.length)))

describe('a body that comes too slowly', () => {
  it('ends with its connection, on a path that reads bodies and on one that never does', async () => {
    const { port } = await serve({ bodySeconds: 0.3, drainSeconds: 60 }, (request, response) => {
      if (request.url === '/x') collect(request, response)
    })
    for (const path of ['/x', '/y']) {
      const { socket, closed, answer } = open(port, head('Content-Length: 100').replace('/x', path))
      const drip = setInterval(() => socket.write('a'), 20)
      ending.push(() => clearInterval(drip))
      await closed
      expect(answer()).toBe('')
    }
  })

  it('does not count the time between two requests of a connection', async () => {
    const { port } = await serve({ bodySeconds: 0.3 }, collect)
    const { socket, saw } = open(port, `${head('Content-Length: 1')}a`)
    await saw('200')
    // The limit of a body that begins now ends in the meantime.
    await open(port, head('Content-Length: 9')).closed
    socket.write(`${head('Content-Length: 2')}ab`)
    await saw('\r\n2\r\n')
    expect(socket.destroyed).toBe(false)
  })

  it('may take longer where it is declared large, as long as it brings enough', async () => {
    const received = new Map<string, number>()
    const { port } = await serve({ bodySeconds: 0.3 }, (request: IncomingMessage, response) => {
      allowLargeBody(request)
      request.on('data', (chunk: Buffer) =>
        received.set(request.url!, (received.get(request.url!) ?? 0) + chunk.length),
      )
      request.on('end', () => response.end('complete'))
    })
    const drip = (path: string, bytes: number) => {
      const connection = open(port, head('Content-Length: 4000').replace('/x', path))
      const timer = setInterval(() => connection.socket.write('a'.repeat(bytes)), 20)
      ending.push(() => clearInterval(timer))
      return connection
    }
    const slow = drip('/slow', 1)
    // 100 bytes each 20 ms: 40 times, in almost three times the limit.
    const fast = drip('/fast', 100)
    await fast.saw('complete')
    await slow.closed
    expect(received.get('/fast')).toBe(4000)
    expect(received.get('/slow')).toBeLessThan(4000)
  })
})

describe('an answer before the body is complete', () => {
  it(
    'is sent at once, and the rest of the body is read for a bounded time only',
    opens('packages/service-kit/src/http/early-response.ts'),
    async () => {
      const { port } = await serve({ drainSeconds: 0.3 }, (_request, response) =>
        response.writeHead(401).end('who are you'),
      )
      const { saw, closed, answer } = open(port, head('Content-Length: 100000'))
      await saw('who are you')
      expect(answer()).toMatch(/^HTTP\/1\.1 401 /)
      await closed
    },
  )

  it('is read whole by a client that first sends all it has, up to a bound of bytes', async () => {
    const { port, server } = await serve({ drainBytes: 1_000_000, drainSeconds: 60 }, (_request, response) =>
      response.end('no'),
    )
    const small = open(port, head('Content-Length: 500000') + 'a'.repeat(500_000))
    expect(await small.closed).toMatch(/Connection: close.*no$/s)
    let read = 0
    server.on('connection', (socket: Socket) =>
      socket.on('close', () => {
        read = socket.bytesRead
      }),
    )
    const large = open(port, head('Content-Length: 500000000'))
    const piece = Buffer.alloc(100_000)
    const fill = () => {
      while (!large.socket.destroyed && large.socket.write(piece));
    }
    large.socket.on('drain', fill)
    fill()
    await large.closed
    expect(large.answer()).toMatch(/no$/)
    await expect.poll(() => read).toBeGreaterThan(0)
    expect(read).toBeLessThan(3_000_000)
  })

  it('of a body that is too large comes with the first byte over the limit', async () => {
    const { port } = await serve({ drainSeconds: 60 }, collect)
    const { saw } = open(port, head('Content-Length: 100000') + 'a'.repeat(1001))
    await saw('413')
  })

  it('leaves a connection without a body open for the next request', async () => {
    const { port } = await serve({}, (_request, response) => response.writeHead(404).end('no'))
    const { socket, saw, answer } = open(port, 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n')
    await saw('no')
    expect(answer()).toMatch(/keep-alive/i)
    socket.write('GET /b HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(() => answer().split('404').length).toBe(3)
  })
})

describe('a listener', () => {
  it('that throws refuses its own request, and the failure is reported', async () => {
    const failures: unknown[] = []
    const note = (message: unknown) => failures.push(message)
    caughtFailures.subscribe(note)
    ending.push(() => caughtFailures.unsubscribe(note))
    const { port } = await serve({}, (request) => {
      if (request.url === '/y') return Promise.reject(new Error('later'))
      throw new Error('unforeseen')
    })
    for (const path of ['/x', '/y']) expect(await open(port, get(path)).closed).toMatch(/^HTTP\/1\.1 500 /)
    expect(failures).toMatchObject(Array(2).fill({ where: 'http.request' }))
  })

  it('that throws within its answer cuts it off', async () => {
    const { port } = await serve({}, (_request, response) => {
      response.writeHead(200, { 'Content-Length': 9 }).write('half')
      throw new Error('unforeseen')
    })
    expect(await open(port, get('/')).closed).toMatch(/^(HTTP\/1\.1 200 .*half)?$/s)
  })

  it('is not asked for a target that is neither a path nor a URL', async () => {
    let asked = 0
    const note = () => void asked++
    const { port } = await serve({}, note, { upgrade: note })
    for (const headers of ['', webSocket]) {
      const answer = await open(port, get('ftp://x/', headers)).closed
      expect(answer).toMatch(/^HTTP\/1\.1 400 .*Connection: close/s)
      expect(answer).toContain('the target of the request is neither a path nor a URL with http or https')
      expect(answer).toContain('"bad_request"')
    }
    expect(asked).toBe(0)
  })

  it('closes each connection after its answer while it is about to stop', async () => {
    let isDraining = false
    const { port } = await serve({ isDraining: () => isDraining }, (_request, response) => response.end('no'))
    const { socket, saw, closed, answer } = open(port, get('/'))
    await saw('no')
    expect(answer()).not.toMatch(/Connection: close/)
    isDraining = true
    socket.write(get('/'))
    expect(await closed).toMatch(/Connection: close/)
  })

  it('gets no headers of more than 16 KiB, and those of a slow client for 15 seconds at most', async () => {
    const { port } = await serve({}, (_request, response) => response.end('small'))
    expect(await open(port, get('/', `X: ${'x'.repeat(16_500)}\r\n`)).closed).toMatch(/^HTTP\/1\.1 431 /)
    await open(port, get('/', `X: ${'x'.repeat(15_500)}\r\n`)).saw('small')
    expect(createHttpServer({})).toMatchObject({
      ...{ headersTimeout: 15_000, requestTimeout: 0, keepAliveTimeout: 30_000 },
      connectionsCheckingInterval: 5000,
    })
    expect(createHttpServer({ bodySeconds: 3 })).toMatchObject({
      ...{ headersTimeout: 3000, connectionsCheckingInterval: 500 },
    })
  })

  it('without upgrades answers a request for a WebSocket like another one, and CONNECT not at all', async () => {
    const { port } = await serve({}, (_request, response) => response.end('plain'))
    await open(port, get('/', webSocket)).saw('plain')
    expect(await open(port, 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n').closed).toBe('')
  })

  it.each([
    ['WebSockets', get('/', 'Connection: Upgrade\r\nUpgrade: WebSocket\r\n')],
    ['tunnels', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
  ])('gets %s with what follows them, and they are not closed for others', async (_, request) => {
    const accept = (_request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (head.length === 0) throw new Error('unforeseen')
      if (head.length === 1) return Promise.reject(new Error('later'))
      socket.write(`accepted ${head}`)
    }
    const { port } = await serve({ connections: 1 }, (_request, response) => response.end('busy'), {
      ...{ upgrade: accept, tunnel: accept },
    })
    for (const first of ['', '1']) expect(await open(port, request + first).closed).toBe('')
    const { saw, socket } = open(port, `${request}head`)
    await saw('accepted head')
    expect(await open(port, get('/')).closed).toMatch(/^HTTP\/1\.1 503 /)
    expect(socket.destroyed).toBe(false)
  })

  it.each([
    ['WebSocket', get('/', webSocket)],
    ['tunnel', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
  ])('gets no %s behind a request that is not answered', async (_, request) => {
    let accepted = 0
    const accept = () => void accepted++
    const { port } = await serve({}, () => undefined, { upgrade: accept, tunnel: accept })
    expect(await open(port, get('/') + request).closed).toBe('')
    expect(accepted).toBe(0)
  })

  it.each([
    ['POST', 'Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 5\r\n'],
    ['POST', 'Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n'],
    ['PUT', 'Upgrade: websocket\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n'],
    ['GET', 'Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 5\r\n'],
    ['GET', 'Upgrade: websocket\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n'],
    ['GET', 'Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n'],
    ['GET', 'Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n', '1.0'],
    ['CONNECT', 'Upgrade: websocket\r\nConnection: Upgrade\r\n'],
  ])('accepts no %s with "%s" for an upgrade', async (method, headers, version = '1.1') => {
    let upgrades = 0
    let body = ''
    const server = createHttpServer({})
    attach(server, {
      request: (request, response) =>
        readBody(request, 100, (content) => {
          body += content
          response.end('answered')
        }),
      upgrade: (_request, socket) => {
        upgrades++
        socket.destroy()
      },
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ending.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const sent = /Length: 0/.test(headers) ? '' : 'hello'
    const content = /chunked/.test(headers) ? `5\r\n${sent}\r\n0\r\n\r\n` : sent
    const { socket, saw, closed } = open(
      port,
      `${method} /x HTTP/${version}\r\nHost: x\r\n${headers}\r\n${content}`,
    )
    if (method === 'CONNECT') await closed
    else {
      await saw('answered')
      expect(body).toBe(sent)
    }
    socket.destroy()
    expect(upgrades).toBe(0)
  })
})

describe('a client that chooses HTTP/2', () => {
  /** Notes the connections that it gets. */
  function noteHttp2() {
    const opened: Http2Options[] = []
    const http2: OpenHttp2 = (_socket, options) => {
      opened.push(options)
      const nothing = () => undefined
      return { isIdle: () => true, close: nothing, pause: nothing, resume: nothing, destroyed: false }
    }
    return { http2, opened, isDraining: () => true }
  }

  it('is served where the server speaks it, which knows whether it is about to stop', async () => {
    const { opened, ...limits } = noteHttp2()
    const { port } = await serve(limits, (_request, response) => response.end('plain'))
    open(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    await expect.poll(() => opened.length).toBe(1)
    expect(opened[0]!.isDraining()).toBe(true)
    await open(port, get('/')).saw('plain')
    expect(opened).toHaveLength(1)
  })

  it('over TLS is offered it by a server that speaks it alone', needs('openssl'), async () => {
    const folder = mkdtempSync(join(tmpdir(), 'server-'))
    ending.push(() => rmSync(folder, { recursive: true }))
    const files = makeCertificate(folder, 'own')
    const pair = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
    const choose = async (limits: Limits, ...ALPNProtocols: string[]) => {
      const server = createHttpServer(limits, pair)
      attach(server, { request: (_request, response) => response.end('safe') })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      ending.push(() => server.close().closeAllConnections())
      const { port } = server.address() as AddressInfo
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols })
      ending.push(() => socket.destroy())
      await once(socket, 'secureConnect')
      return socket
    }
    const { opened, ...limits } = noteHttp2()
    for (const [socket, protocol] of [
      [await choose({}, 'h2', 'http/1.1'), 'http/1.1'],
      [await choose(limits, 'http/1.1'), 'http/1.1'],
    ] as const) {
      expect(socket.alpnProtocol).toBe(protocol)
      socket.write(get('/'))
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 .*safe$/s)
    }
    expect(opened).toEqual([])
    expect((await choose(limits, 'h2', 'http/1.1')).alpnProtocol).toBe('h2')
    await expect.poll(() => opened.length).toBe(1)
  })
})
