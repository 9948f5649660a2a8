/** The proxy in front of services that misbehave on the wire. */
import { createServer, request } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, describe, expect, it } from 'vitest'
import type { Running } from '../containers/instances.ts'
import { createProxy } from './proxy.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

/** A service that speaks raw bytes: what it does with each request, and how many connections it has seen. */
async function front(onRequest: (socket: Socket, count: number) => void) {
  let connections = 0
  let count = 0
  const sockets = new Set<Socket>()
  const upstream = createSocketServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('data', () => onRequest(socket, ++count))
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  const { port } = upstream.address() as AddressInfo
  const lines: string[] = []
  const running = {
    instance: { upstream: { host: '127.0.0.1', port } },
    plan: { log: (_: string, text: string) => lines.push(text) },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const proxy = createProxy(() => 0)
  const server = createServer((incoming, response) =>
    proxy.pass(incoming, response, {
      running,
      path: incoming.url!,
      headers: ['Host', 'x'],
      sandboxed: false,
      speaksHttp2: false,
      wantsTrailers: false,
      isOfEvents: false,
      requestId: 'id-1',
      limitMs: 1000,
      onOverrun: () => undefined,
      endWithCaller: () => () => undefined,
    }),
  ).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ending.push(() => {
    proxy.close()
    server.close()
    server.closeAllConnections()
    for (const socket of sockets) socket.destroy()
    upstream.close()
  })
  const call = (method = 'GET', body?: string, headers = {}) =>
    new Promise<string>((resolve, reject) => {
      request(
        {
          port: (server.address() as AddressInfo).port,
          host: '127.0.0.1',
          method,
          path: '/',
          agent: false,
          headers,
        },
        (answer) => {
          let text = `${answer.statusCode} `
          answer.on('data', (chunk) => {
            text += chunk
          })
          answer.on('end', () => resolve(text))
          answer.on('error', () => resolve(`${text}cut`))
        },
      )
        .on('error', reject)
        .end(body)
    })
  return { call, running, lines, connections: () => connections }
}

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

describe('connections to a service', () => {
  it('are used again by the next request', async () => {
    const { call, connections, running } = await front((socket, count) => socket.write(ok(`answer ${count}`)))
    for (let at = 1; at <= 5; at++) expect(await call()).toBe(`200 answer ${at}`)
    expect(connections()).toBe(1)
    expect(running.requests.underWay).toBe(0)
  })

  it('with bytes that answer no request are never used again: they would be the answer to another caller', async () => {
    let closed = 0
    const { call, connections } = await front((socket, count) => {
      socket.once('close', () => closed++)
      socket.write(ok(`answer ${count}`))
      setTimeout(() => socket.write(ok('planted')), 5)
    })
    for (let at = 1; at <= 3; at++) {
      expect(await call()).toBe(`200 answer ${at}`)
      await expect.poll(() => closed).toBe(at)
    }
    expect(connections()).toBe(3)
  })

  it('that closed while they were idle are replaced, and the request is sent again', async () => {
    const { call } = await front((socket, count) => {
      // The connection closes under the second request.
      if (count === 2) socket.destroy()
      else socket.write(ok(`answer ${count}`))
    })
    expect(await call()).toBe('200 answer 1')
    expect(await call()).toBe('200 answer 3')
  })

  it('what may not be asked twice is not', async () => {
    const { call } = await front((socket, count) => {
      if (count === 2) socket.destroy()
      else socket.write(ok(`answer ${count}`))
    })
    expect(await call()).toBe('200 answer 1')
    expect(await call('POST', 'pay 100')).toMatch(/^502 .*bad_gateway/)
  })
})

it('a connection that was paused for a slow reader serves the next request', async () => {
  // Sizes around those of the buffers on the way: the last part comes with the one that made the gateway pause.
  const { call, connections } = await front((socket) => {
    const body = 'x'.repeat(65_440)
    socket.write(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
    )
    setTimeout(() => socket.write('0\r\n\r\n'), 1)
  })
  for (let at = 0; at < 10; at++) expect((await call()).length).toBe(65_444)
  expect(connections()).toBeLessThanOrEqual(10)
})

it('a body in a transfer coding that would be lost on the way is refused', async () => {
  const { call, connections } = await front((socket) => socket.write(ok('answer')))
  expect(await call('POST', 'x', { 'Transfer-Encoding': 'gzip, chunked' })).toMatch(/^501 /)
  expect(connections()).toBe(0)
})

describe('a service that', () => {
  it.each<[string, (socket: Socket) => void, RegExp, RegExp?]>([
    [
      'ends the connection',
      (socket) => socket.destroy(),
      /^502 .*bad_gateway/,
      /ended the connection|ECONNRESET/,
    ],
    [
      'answers something else',
      (socket) => socket.write('SSH-2.0-x\r\n\r\n'),
      /^502 .*bad_gateway/,
      /status line/,
    ],
    ['sends nothing', () => undefined, /^504 .*timeout/],
    [
      'answers with the status 000',
      (socket) => socket.write('HTTP/1.1 000 X\r\n\r\n'),
      /^502 .*bad_gateway/,
      /status line/,
    ],
    [
      'has chunks of a broken size',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
      /^502 .*bad_gateway/,
      /size of a chunk/,
    ],
    [
      'ends its answer before the body begins',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'),
      /^502 .*bad_gateway/,
      /cut short/,
    ],
    ['switches protocols unasked', (socket) => socket.write('HTTP/1.1 101 X\r\n\r\n'), /^502 /, /unasked/],
  ])('%s is answered for, and the reason is in its log', async (_, act, expected, line) => {
    const { call, lines, running } = await front(act)
    expect(await call()).toMatch(expected)
    if (line) expect(lines.join('\n')).toMatch(line)
    expect(running.requests.underWay).toBe(0)
  })

  it('stops in the middle is seen to: the answer is cut, not completed', async () => {
    const { call } = await front((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'))
    expect(await call()).toBe('200 halfcut')
  })
})
