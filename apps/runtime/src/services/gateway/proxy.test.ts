/** The proxy in front of services that misbehave on the wire. */
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { isLarge } from '../../../../../packages/service-kit/src/http/large-body.ts'
import { startHttp2Service } from '../../../../../tests/harness/http2-proxy.ts'
import { usualPassage } from '../../../../../tests/harness/upgrade-front.ts'
import type { Running } from '../containers/instances.ts'
import type { Passage } from './passage.ts'
import { createProxy } from './proxy.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const end of ending.splice(0)) end()
})

/** A service that speaks raw bytes: what it does with each request, and how many connections it has seen. */
async function front(
  onRequest: (socket: Socket, count: number, text: string) => void,
  more?: Partial<Passage>,
) {
  let connections = 0
  let count = 0
  const sockets = new Set<Socket>()
  const upstream = createSocketServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('data', (text) => onRequest(socket, ++count, String(text)))
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  ending.push(() => {
    for (const socket of sockets) socket.destroy()
    upstream.close()
  })
  const { port } = upstream.address() as AddressInfo
  return { ...(await frontOf(port, more)), connections: () => connections, open: () => sockets.size }
}

/** The proxy in front of a port. */
async function frontOf(servicePort: number, more: Partial<Passage> = {}) {
  const lines: string[] = []
  const running = {
    instance: { upstream: { host: '127.0.0.1', port: servicePort } },
    plan: { log: (by: string, text: string) => by === 'runtime' && lines.push(text) },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const proxy = createProxy(() => 0)
  let last: IncomingMessage | undefined
  const server = createServer((incoming, response) => {
    last = incoming
    proxy.pass(incoming, response, {
      running,
      path: incoming.url!,
      ...usualPassage,
      limitMs: 1000,
      ...more,
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ending.push(() => {
    proxy.close()
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const call = (method = 'GET', body?: string, headers = {}, path = '/') =>
    new Promise<string>((resolve, reject) => {
      request({ port, host: '127.0.0.1', method, path, agent: false, headers }, (answer) => {
        let text = `${answer.statusCode} `
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () => resolve(text))
        answer.on('error', () => resolve(`${text}cut`))
      })
        .on('error', reject)
        .end(body)
    })
  const counts = () => [running.requests.underWay, running.unanswered.underWay]
  return { call, port, proxy, running, counts, lines, last: () => last! }
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

  it.each([
    ['POST', 'pay 100'],
    ['DELETE', undefined],
    ['GET', 'with a body'],
  ])('what may not be asked twice is not: %s %s', async (method, body) => {
    const { call, lines } = await front((socket, count) => {
      if (count === 2) socket.destroy()
      else socket.write(ok(`answer ${count}`))
    })
    expect(await call()).toBe('200 answer 1')
    const headers = body === undefined ? {} : { 'Content-Length': body.length }
    expect(await call(method, body, headers)).toMatch(/^502 .*bad_gateway/)
    expect(lines[0]).toContain(`no answer for ${method} / `)
  })

  it('what was answered in part is not asked again', async () => {
    let seen = 0
    const { call } = await front((socket, count) => {
      seen = count
      if (count === 2) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')
      else socket.write(ok(`answer ${count}`))
    })
    expect(await call()).toBe('200 answer 1')
    expect([await call(), seen]).toEqual(['200 halfcut', 2])
  })

  it('a request is sent again once', async () => {
    const waiting: Socket[] = []
    const { call, connections } = await front((socket, count) => {
      if (count > 4) return socket.write(ok('a third time'))
      if (count > 2) return socket.destroy()
      waiting.push(socket)
      if (count === 2) for (const each of waiting) each.write(ok('first'))
    })
    expect(await Promise.all([call(), call()])).toEqual(['200 first', '200 first'])
    expect(await call()).toMatch(/^502 /)
    expect(connections()).toBe(2)
  })

  it.each([false, true])('end with the proxy (HTTP/2: %s)', async (speaksHttp2) => {
    const gone = Promise.withResolvers<void>()
    const service = await startHttp2Service((stream) => {
      stream.session!.once('close', gone.resolve)
      stream.respond({ ':status': 200 }, { endStream: true })
    })
    ending.push(service.stop)
    const { call, proxy } = speaksHttp2
      ? await frontOf(service.port, { speaksHttp2 })
      : await front((socket) => {
          socket.once('close', gone.resolve)
          socket.write(ok(''))
        })
    expect(await call()).toBe('200 ')
    proxy.close()
    await gone.promise
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
  expect(await call('POST', 'x', { 'Transfer-Encoding': 'gzip, chunked' })).toMatch(
    /^501 .*send the body with the Transfer-Encoding .*unsupported_transfer_encoding/,
  )
  expect(connections()).toBe(0)
})

it.each([
  [{ 'Content-Length': '5' }, 'hello', /\r\nContent-Length: 5\r\n\r\nhello$/, true],
  [
    { 'Transfer-Encoding': 'Chunked' },
    'hello',
    /\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/,
    true,
  ],
  [{}, undefined, /^((?!Length|Transfer).)*\r\n\r\n$/s, false],
])(
  'a body with %j is framed as it came, and may take its time',
  async (headers, body, expected, takesLong) => {
    let seen = ''
    const { call, last } = await front((socket, _, text) => {
      seen += text
      if (expected.test(seen)) socket.write(ok('answer'))
    })
    expect(await call(body === undefined ? 'GET' : 'POST', body, headers)).toBe('200 answer')
    expect(isLarge(last())).toBe(takesLong)
  },
)

describe('a request', () => {
  const revoked = new RpcError('token_revoked', 'the token is gone')
  /** What ends a request when its caller loses its access. */
  function watched() {
    const watch = { end: (_cause: RpcError): void => undefined, unwatched: 0 }
    const endWithCaller: Passage['endWithCaller'] = (end) => {
      watch.end = end
      return () => watch.unwatched++
    }
    return { watch, endWithCaller }
  }
  const stopClock = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

  it('that is not answered in time is refused, its path is in the log, and the service is reported', async () => {
    stopClock()
    const onOverrun = vi.fn()
    const { call, counts, lines, open } = await front(() => undefined, { onOverrun, limitMs: 60_000 })
    const answer = call('GET', undefined, {}, '/late?secret')
    await expect.poll(open).toBe(1)
    vi.advanceTimersByTime(30_000)
    expect(counts()).toEqual([1, 1])
    vi.advanceTimersByTime(30_000)
    const why = 'the service did not begin its answer within 60 s (MCM.MAX_EXECUTION_TIME_SEC)'
    expect(await answer).toContain(why)
    expect(await answer).toMatch(/^504 .*"timeout"/)
    expect(lines).toEqual([`no answer for GET /late (request id-1): ${why}`])
    expect(onOverrun).toHaveBeenCalledOnce()
    expect(counts()).toEqual([0, 0])
    await expect.poll(open).toBe(0)
  })

  it('that is answered in time may last longer', async () => {
    stopClock()
    let service: Socket | undefined
    const { call, counts } = await front((socket) => {
      service = socket
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun')
    })
    const answer = call()
    await expect.poll(counts).toEqual([1, 0])
    vi.advanceTimersByTime(60_000)
    service!.write(' end')
    expect(await answer).toBe('200 begun end')
    expect(counts()).toEqual([0, 0])
  })

  it('that its client leaves ends at the service as well, and is no failure of the service', async () => {
    stopClock()
    const { watch, endWithCaller } = watched()
    const onOverrun = vi.fn()
    const { port, counts, lines, open } = await front(() => undefined, { endWithCaller, onOverrun })
    const client = connect(port, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(open).toBe(1)
    client.destroy()
    await expect.poll(() => [open(), ...counts()]).toEqual([0, 0, 0])
    vi.advanceTimersByTime(5000)
    expect([lines, onOverrun.mock.calls, watch.unwatched]).toEqual([[], [], 1])
  })

  it('of a caller that loses its access is refused, once', async () => {
    const { watch, endWithCaller } = watched()
    const { call, counts, open } = await front(() => undefined, { endWithCaller })
    const answer = call()
    await expect.poll(open).toBe(1)
    watch.end(revoked)
    watch.end(revoked)
    expect(await answer).toMatch(/^401 .*the token is gone.*"token_revoked"/)
    await expect.poll(() => [open(), ...counts(), watch.unwatched]).toEqual([0, 0, 0, 1])
  })

  it('of a caller that loses its access during the answer is cut off', async () => {
    const { watch, endWithCaller } = watched()
    const { call, counts } = await front(
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun'),
      { endWithCaller },
    )
    const answer = call()
    await expect.poll(counts).toEqual([1, 0])
    watch.end(revoked)
    expect(await answer).toMatch(/^200 (begun)?cut$/)
  })
})

describe('over HTTP/2', () => {
  it('the head of an answer is passed on before its body, and its trailers after it', async () => {
    const seen = Promise.withResolvers<void>()
    const service = await startHttp2Service((stream) => {
      stream.respond({ ':status': 203 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-late': '1' }))
      void seen.promise.then(() => stream.end('body'))
    })
    ending.push(service.stop)
    const { port } = await frontOf(service.port, { speaksHttp2: true, wantsTrailers: true })
    const answer = await new Promise<IncomingMessage>((resolve) =>
      request({ port, host: '127.0.0.1', agent: false }, resolve).end(),
    )
    seen.resolve()
    expect(String(Buffer.concat(await answer.toArray()))).toBe('body')
    expect([answer.statusCode, answer.trailers]).toEqual([203, { 'x-late': '1' }])
  })

  it('a request that cannot be sent is refused, and the reason is in the log', async () => {
    const service = await startHttp2Service(() => undefined)
    ending.push(service.stop)
    const headers = ['Host', 'x', 'Connection', 'close']
    const { call, lines } = await frontOf(service.port, { speaksHttp2: true, headers })
    expect(await call()).toMatch(/^502 .*bad_gateway/)
    expect(lines.join()).toMatch(/connection/i)
  })
})

describe('a service that', () => {
  it.each<[string, (socket: Socket) => void, RegExp, RegExp?]>([
    [
      'ends the connection',
      (socket) => socket.end(),
      /^502 .*the service broke the connection, or answered with something that is not HTTP.*bad_gateway/,
      /\/ \(request id-1\): it ended the connection$/,
    ],
    ['resets the connection', (socket) => socket.resetAndDestroy(), /^502 .*bad_gateway/, /ECONNRESET/],
    [
      'answers something else',
      (socket) => socket.write('SSH-2.0-x\r\n\r\n'),
      /^502 .*bad_gateway/,
      /status line/,
    ],
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
