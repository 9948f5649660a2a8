/** Services that speak HTTP/2 without TLS, well and badly. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { collectGarbage } from '../../../../../tests/harness/collect-garbage.ts'
import {
  block,
  type Fields,
  type Frame,
  flags,
  frame,
  headers,
  number32,
  openRaw,
  type RawClient,
  serveRaw,
  types,
} from '../../../../../tests/harness/http2-frames.ts'
import {
  type Http2Proxy,
  startHttp2Proxy,
  startHttp2Service,
} from '../../../../../tests/harness/http2-proxy.ts'
import { request2 } from '../../../../../tests/harness/http2-server.ts'
import { opens } from '../../../../../tests/harness/unread.ts'

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

async function front(onStream: Parameters<typeof startHttp2Service>[0], options = {}) {
  const service = await startHttp2Service(onStream, options)
  ending.push(service.stop)
  return { service, ...(await frontOf(service.port)) }
}

async function frontOf(port: number, limitMs?: number): Promise<{ proxy: Http2Proxy }> {
  const proxy = await startHttp2Proxy(port, limitMs)
  ending.push(proxy.stop)
  return { proxy }
}

const grpc = { ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc', te: 'trailers' }

describe('a service of HTTP/2', () => {
  it('gets a request with its headers, and its answer is passed on with trailers', async () => {
    let seen: Record<string, unknown> = {}
    const { proxy } = await front((stream, given) => {
      seen = given
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () =>
        stream.sendTrailers({
          'grpc-status': '0',
          'content-type': 'x',
          'set-cookie': 'a=b',
          'strict-transport-security': 'x',
        }),
      )
      stream.pipe(stream)
    })
    const answer = await request2(proxy.server.connect(), grpc, 'abc', 'def')
    expect(answer).toMatchObject({ status: 200, body: 'abcdef', code: 0, trailers: { 'grpc-status': '0' } })
    expect(Object.keys(answer.trailers)).toEqual(['grpc-status'])
    expect(seen).toMatchObject({
      ':method': 'POST',
      ':path': '/a.B/C',
      ':authority': 'service',
      'x-own': '1',
      te: 'trailers',
    })
    expect(seen.connection).toBeUndefined()
    expect(proxy.underWay()).toBe(0)
  })

  it('that answers with its head alone passes it on as such', async () => {
    const { proxy } = await front((stream) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '12', 'content-type': 'application/grpc' },
        { endStream: true },
      ),
    )
    const answer = await request2(proxy.server.connect(), grpc, 'abc')
    expect(answer).toMatchObject({
      status: 200,
      body: '',
      code: 0,
      headers: { 'grpc-status': '12' },
      trailers: {},
    })
  })

  it('that answers with its head alone ends the stream with it, also before the request is complete', async () => {
    const { proxy } = await front((stream) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '12', 'content-type': 'application/grpc' },
        { endStream: true },
      ),
    )
    const client = openRaw(proxy.server.port)
    client.send(
      headers(1, [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/a.B/C'],
        [':authority', 'x'],
        ['te', 'trailers'],
      ]),
    )
    expect((await client.saw(types.headers, 1)).flag & flags.endStream).toBe(1)
    client.socket.destroy()
  })

  it('that sends its head first reaches a client that waits for it', async () => {
    const { proxy } = await front((stream) => {
      stream.respond({ ':status': 200, 'x-first': 'yes' })
      stream.pipe(stream)
    })
    const stream = proxy.server.connect().request(grpc)
    const [head] = await once(stream, 'response')
    expect(head['x-first']).toBe('yes')
    stream.end('after')
    expect(String((await once(stream, 'data'))[0])).toBe('after')
  })

  it('is reached by a client of HTTP/1.1, without trailers', async () => {
    const { proxy, service } = await front((stream) => {
      stream.respond({ ':status': 203, 'content-length': '5' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-late': '1' }))
      stream.end('hello')
    })
    for (let at = 0; at < 3; at++) {
      const answer = await fetch(`http://127.0.0.1:${proxy.server.port}/x`)
      expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([
        203,
        '5',
        'hello',
      ])
    }
    expect(service.connections()).toBe(1)
  })

  it('is sent no more requests at a time on a connection than it accepts', async () => {
    const { proxy, service } = await front(
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.write('x')
      },
      { settings: { maxConcurrentStreams: 2 } },
    )
    const session = proxy.server.connect()
    const streams = []
    for (let at = 0; at < 6; at++) {
      const stream = session.request({})
      await once(stream, 'data')
      streams.push(stream)
    }
    expect(service.connections()).toBe(3)
    for (const stream of streams) stream.close()
    await expect.poll(() => proxy.underWay()).toBe(0)
  })

  it('learns that a caller has gone: its request is reset, and does not look complete', async () => {
    let ends = 0
    let reads = 0
    let leaves = 0
    const closed: number[] = []
    const { proxy } = await front((stream) => {
      stream.on('aborted', () => void closed.push(stream.rstCode))
      stream.on('data', () => void reads++)
      stream.on('end', () => {
        if (!stream.aborted) ends++
      })
    })
    // Node's own client would end the request before it resets it.
    for (const leave of [
      ({ send }: RawClient) => send(frame(types.reset, 0, 1, number32(8))),
      ({ send }: RawClient) => send(frame(types.reset, 0, 1, number32(0))),
      ({ socket }: RawClient) => socket.end(),
    ]) {
      const client = openRaw(proxy.server.port)
      client.send(
        headers(1, [
          [':method', 'POST'],
          [':scheme', 'http'],
          [':path', '/'],
          [':authority', 'x'],
        ]),
        frame(types.data, 0, 1, 'part'),
      )
      await expect.poll(() => reads).toBe(++leaves)
      leave(client)
      await expect.poll(() => proxy.underWay()).toBe(0)
      client.socket.destroy()
    }
    await expect.poll(() => closed).toEqual([8, 8, 8])
    expect(ends).toBe(0)
  })
})

it(
  'an answer is not read faster than its client reads, and a request not faster than its service',
  opens('apps/runtime/src/services/gateway/http2-carrier.ts'),
  async () => {
    let written = 0
    const { proxy } = await front((stream, given) => {
      if (given[':path'] === '/up') return void stream.pause()
      stream.respond({ ':status': 200 })
      const fill = () => {
        while (!stream.destroyed && written < 50_000_000 && stream.write(Buffer.alloc(65_536)))
          written += 65_536
      }
      stream.on('drain', fill)
      fill()
    })
    const session = proxy.server.connect()
    const down = session.request({ ':path': '/down' })
    await once(down, 'response')
    down.pause()
    const up = session.request({ ':path': '/up', ':method': 'POST' })
    let sent = 0
    const fill = () => {
      while (!up.destroyed && sent < 50_000_000 && up.write(Buffer.alloc(65_536))) sent += 65_536
    }
    up.on('drain', fill)
    fill()
    for (let last = -1; last !== written + sent; last = written + sent)
      for (let at = 0; at < 20; at++) expect(await proxy.server.ask()).toBe(200)
    expect(written).toBeLessThan(4_000_000)
    expect(sent).toBeLessThan(4_000_000)
    down.close()
    up.close()
    await expect.poll(() => proxy.underWay()).toBe(0)
  },
)

const ok: Fields = [[':status', '200']]
const headersEnd = flags.endHeaders
const isRequest = ({ type }: Frame) => type === types.headers

describe('a hostile service', () => {
  it.each<[string, (stream: number) => Buffer[], number | 'cut']>([
    ['that resets the stream', (stream) => [frame(types.reset, 0, stream, number32(2))], 502],
    [
      'that resets the stream without an error',
      (stream) => [frame(types.reset, 0, stream, number32(0))],
      502,
    ],
    [
      'that resets the stream within its answer',
      (stream) => [
        headers(stream, ok),
        frame(types.data, 0, stream, 'x'),
        frame(types.reset, 0, stream, number32(2)),
      ],
      'cut',
    ],
    [
      'that resets the stream within its answer without an error',
      (stream) => [
        headers(stream, ok),
        frame(types.data, 0, stream, 'x'),
        frame(types.reset, 0, stream, number32(0)),
      ],
      'cut',
    ],
    ['that sends GOAWAY', () => [frame(types.goaway, 0, 0, number32(0, 2))], 502],
    [
      'that sends GOAWAY for requests that it has not read',
      () => [frame(types.goaway, 0, 0, number32(0, 0))],
      502,
    ],
    [
      'that sends GOAWAY within its answer',
      (stream) => [
        headers(stream, ok),
        frame(types.data, 0, stream, 'x'),
        frame(types.goaway, 0, 0, number32(stream, 2)),
      ],
      'cut',
    ],
    ['that answers without a status', (stream) => [headers(stream, [['x', 'y']], flags.endStream)], 502],
    [
      'that answers with a status that is no number',
      (stream) => [headers(stream, [[':status', '9x']], flags.endStream)],
      502,
    ],
    ['that answers with 101', (stream) => [headers(stream, [[':status', '101']], flags.endStream)], 502],
    [
      'that answers with Connection',
      (stream) => [headers(stream, [...ok, ['connection', 'close']], flags.endStream)],
      502,
    ],
    [
      'that answers with Transfer-Encoding',
      (stream) => [headers(stream, [...ok, ['transfer-encoding', 'chunked']], flags.endStream)],
      502,
    ],
    [
      'that sends a body that is shorter than its length',
      (stream) => [
        headers(stream, [...ok, ['content-length', '9']]),
        frame(types.data, flags.endStream, stream, 'x'),
      ],
      'cut',
    ],
    ['that sends DATA before its head', (stream) => [frame(types.data, 0, stream, 'x')], 502],
    [
      'that sends 1,000 headers',
      (stream) => [
        headers(stream, [...ok, ...Array.from({ length: 1000 }, (_, at) => [`x${at}`, 'a'] as const)]),
      ],
      502,
    ],
    [
      'that sends a header without an end',
      (stream) => [
        frame(types.headers, 0, stream, block(ok)),
        ...Array.from({ length: 5000 }, () =>
          frame(types.continuation, 0, stream, block([['x', 'a'.repeat(100)]])),
        ),
      ],
      502,
    ],
    [
      'that sends DATA without content',
      (stream) => [headers(stream, ok), ...Array.from({ length: 5000 }, () => frame(types.data, 0, stream))],
      'cut',
    ],
    [
      'that floods with PING',
      () =>
        Array.from({ length: 20_000 }, () => frame(types.ping, 0, 0, '12345678')).concat(
          frame(types.goaway, 0, 0, number32(0, 2)),
        ),
      502,
    ],
    [
      'that floods with SETTINGS',
      () =>
        Array.from({ length: 20_000 }, () => frame(types.settings, 0, 0)).concat(
          frame(types.goaway, 0, 0, number32(0, 2)),
        ),
      502,
    ],
    [
      'that sends a frame that is longer than allowed',
      (stream) => [frame(types.data, 0, stream, Buffer.alloc(20_000))],
      502,
    ],
  ])('%s gets its request refused or cut off, and the next one is served', async (_, answer, expected) => {
    let calls = 0
    const service = await serveRaw((each, socket) => {
      if (!isRequest(each)) return
      if (++calls > 1) socket.write(headers(each.stream, ok, flags.endStream))
      else for (const part of answer(each.stream)) socket.write(part)
    })
    ending.push(service.stop)
    const { proxy } = await frontOf(service.port)
    const session = proxy.server.connect()
    const got = await request2(session, { ':method': 'POST' }, 'x')
    if (expected === 'cut') expect(got).toMatchObject({ status: 200, code: 2 })
    else expect(got).toMatchObject({ status: expected, code: 0 })
    expect(proxy.underWay()).toBe(0)
    expect(proxy.lines).toHaveLength(1)
    expect((await request2(session, { ':method': 'POST' }, 'x')).status).toBe(200)
  })

  // Without the order that http2-lifetime.ts sets, Node.js ends the process, and this file fails as a whole.
  it('that sends headers without an end does not end the process when its connections are collected', async () => {
    const flood = (stream: number) => [
      frame(types.headers, 0, stream, block(ok)),
      ...Array.from({ length: 5000 }, () =>
        frame(types.continuation, 0, stream, block([['x', 'a'.repeat(100)]])),
      ),
    ]
    for (let round = 0; round < 10; round++) {
      let calls = 0
      const service = await serveRaw((each, socket) => {
        if (!isRequest(each)) return
        if (++calls > 1) socket.write(headers(each.stream, ok, flags.endStream))
        else for (const part of flood(each.stream)) socket.write(part)
      })
      const proxy = await startHttp2Proxy(service.port)
      const session = proxy.server.connect()
      expect((await request2(session, { ':method': 'POST' }, 'x')).status).toBe(502)
      await collectGarbage()
      expect((await request2(session, { ':method': 'POST' }, 'x')).status).toBe(200)
      await proxy.stop()
      service.stop()
      await collectGarbage()
    }
  })

  it('that pushes is not listened to', async () => {
    const service = await serveRaw((each, socket) => {
      if (!isRequest(each)) return
      const promise = Buffer.concat([number32(2), block(ok)])
      socket.write(frame(types.promise, headersEnd, each.stream, promise))
      socket.write(headers(each.stream, ok, flags.endStream))
    })
    ending.push(service.stop)
    const { proxy } = await frontOf(service.port)
    const { status } = await request2(proxy.server.connect(), {})
    expect([200, 502]).toContain(status)
    expect(proxy.underWay()).toBe(0)
  })

  it('that never answers has its time limit', async () => {
    const service = await serveRaw(() => undefined)
    ending.push(service.stop)
    const { proxy } = await frontOf(service.port, 200)
    expect((await request2(proxy.server.connect(), {})).status).toBe(504)
    expect(proxy.underWay()).toBe(0)
  })

  it('that accepts no stream has its time limit', async () => {
    const service = await serveRaw(({ type, flag }, socket) => {
      if (type === types.settings && flag === 0)
        socket.write(frame(types.settings, 0, 0, Buffer.from('000300000000', 'hex')))
    }, false)
    ending.push(service.stop)
    const { proxy } = await frontOf(service.port, 300)
    const session = proxy.server.connect()
    expect((await request2(session, {})).status).toBe(504)
    expect((await request2(session, {})).status).toBe(504)
    expect(proxy.underWay()).toBe(0)
  })

  it('that closes its connection without GOAWAY is missed', async () => {
    const service = await serveRaw((each, socket) => {
      if (isRequest(each)) socket.end()
    })
    ending.push(service.stop)
    const { proxy } = await frontOf(service.port)
    expect((await request2(proxy.server.connect(), { ':method': 'POST' }, 'x')).status).toBe(502)
    expect(proxy.underWay()).toBe(0)
  })

  it('that speaks HTTP/1.1 is named as such', async () => {
    const service: Server = createServer((_request, response) => response.end('x')).listen(0, '127.0.0.1')
    await once(service, 'listening')
    ending.push(() => void service.close())
    const { proxy } = await frontOf((service.address() as AddressInfo).port)
    const answer = await request2(proxy.server.connect(), {})
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body).error.message).toBe(
      'the service did not answer in HTTP/2 without TLS, as MCM.PROTOCOL "h2c" requires; remove the setting if it speaks HTTP/1.1',
    )
  })

  it('that does not listen is refused as before', async () => {
    const gone = createSocketServer().listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as AddressInfo
    gone.close()
    await once(gone, 'close')
    const { proxy } = await frontOf(port)
    const answer = await request2(proxy.server.connect(), {})
    expect(answer.status).toBe(502)
    expect(proxy.lines[0]).toContain('ECONNREFUSED')
  })
})
