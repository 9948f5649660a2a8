/** Clients of HTTP/2 that break its framing, or waste what a server gives each of them: their connection ends, and others are served. */
import { afterEach, describe, expect, it } from 'vitest'
import { collectGarbage } from '../../../../../tests/harness/collect-garbage.ts'
import {
  block,
  codeOf,
  codes,
  type Fields,
  flags,
  frame,
  headers,
  number32,
  openRaw,
  preface,
  type RawClient,
  types,
} from '../../../../../tests/harness/http2-frames.ts'
import { type Http2TestServer, startHttp2Server } from '../../../../../tests/harness/http2-server.ts'

let server: Http2TestServer
const clients: RawClient[] = []
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy()
  await server.stop()
})

function open(isHttp2 = true): RawClient {
  const client = openRaw(server.port, isHttp2)
  clients.push(client)
  return client
}

const get: Fields = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'x'],
]
const post: Fields = [[':method', 'POST'], ...get.slice(1)]
const many = (count: number, make: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)))

/** The connection has closed, nothing of it is under way, and others are served. */
async function expectEnd(client: RawClient): Promise<void> {
  await client.closed
  await expect.poll(() => server.underWay()).toBe(0)
  expect(await server.ask()).toBe(200)
}

describe('a connection ends after', () => {
  it.each<[string, Buffer]>([
    ['HEADERS on stream 0', headers(0, get, flags.endStream)],
    ['HEADERS on a stream of the server', headers(2, get, flags.endStream)],
    [
      'HEADERS that are not complete, and another frame',
      frame(types.headers, 0, 1, block(get).subarray(0, 9)),
    ],
    ['DATA on stream 0', frame(types.data, 0, 0, 'x')],
    ['DATA on a stream that was never opened', frame(types.data, 0, 7, 'x')],
    ['a CONTINUATION without HEADERS', frame(types.continuation, flags.endHeaders, 1, block(get))],
    ['SETTINGS of a wrong length', frame(types.settings, 0, 0, 'abc')],
    ['SETTINGS on a stream', frame(types.settings, 0, 1)],
    ['an acknowledgement of SETTINGS with content', frame(types.settings, flags.ack, 0, '123456')],
    ['SETTINGS with a window beyond 2^31', frame(types.settings, 0, 0, Buffer.from('0004ffffffff', 'hex'))],
    ['SETTINGS with frames of 1 byte', frame(types.settings, 0, 0, Buffer.from('000500000001', 'hex'))],
    ['a PING of 7 bytes', frame(types.ping, 0, 0, '1234567')],
    ['a PING on a stream', frame(types.ping, 0, 1, '12345678')],
    ['a window of the connection that grows by 0', frame(types.window, 0, 0, number32(0))],
    [
      'a window of the connection beyond 2^31',
      many(3, () => frame(types.window, 0, 0, number32(0x7fff_ffff))),
    ],
    ['a window of a stream that was never opened', frame(types.window, 0, 9, number32(1))],
    ['RST_STREAM on stream 0', frame(types.reset, 0, 0, number32(8))],
    ['RST_STREAM on a stream that was never opened', frame(types.reset, 0, 9, number32(8))],
    ['a frame that is longer than allowed', frame(types.data, 0, 1, Buffer.alloc(20_000))],
    ['PUSH_PROMISE', frame(types.promise, flags.endHeaders, 1, Buffer.concat([number32(2), block(get)]))],
    ['padding that is longer than its frame', frame(types.data, flags.padded, 1, Buffer.from([9, 0]))],
    ['an index of a header that is in no table', frame(types.headers, 5, 1, Buffer.from([0xff, 0xff, 0x7f]))],
    [
      'a table of headers that is larger than allowed',
      frame(types.headers, 5, 1, Buffer.from([0x3f, 0xff, 0xff, 0x7f])),
    ],
    [
      'a text of a header that is not encoded as declared',
      frame(types.headers, 5, 1, Buffer.from('0082ffff83ffffff', 'hex')),
    ],
    ['GOAWAY with a protocol error', frame(types.goaway, 0, 0, number32(0, 1))],
  ])('%s', async (_, sent) => {
    server = await startHttp2Server()
    const client = open()
    // A second frame, and a half-close: what the server waits for comes.
    client.send(sent, frame(types.ping, 0, 0, '12345678'))
    client.socket.end()
    await expectEnd(client)
    expect(server.requests.filter(({ outcome }) => outcome() === 'whole').length).toBeLessThan(2)
  })

  it.each<[string, () => Buffer]>([
    [
      'CONTINUATION without an end',
      () =>
        Buffer.concat([
          frame(types.headers, flags.endStream, 1, block(get)),
          many(20_000, () => frame(types.continuation, 0, 1, block([['x', 'a']]))),
        ]),
    ],
    [
      'DATA without content',
      () => Buffer.concat([headers(1, post), many(5000, () => frame(types.data, 0, 1))]),
    ],
    ['PING', () => many(20_000, () => frame(types.ping, 0, 0, '12345678'))],
    ['SETTINGS', () => many(20_000, () => frame(types.settings, 0, 0))],
    [
      'streams that are reset at once (CVE-2023-44487)',
      () =>
        many(5000, (at) =>
          Buffer.concat([
            headers(at * 2 + 1, get, flags.endStream),
            frame(types.reset, 0, at * 2 + 1, number32(codes.cancel)),
          ]),
        ),
    ],
    [
      'streams that the server resets for what they send (CVE-2025-8671)',
      () =>
        many(5000, (at) =>
          Buffer.concat([headers(at * 2 + 1, post), frame(types.window, 0, at * 2 + 1, number32(0))]),
        ),
    ],
    [
      'requests that are malformed',
      () => many(5000, (at) => headers(at * 2 + 1, [...get, ['connection', 'x']], flags.endStream)),
    ],
    ['streams beyond the limit', () => many(5000, (at) => headers(at * 2 + 1, post))],
  ])('a flood of %s', async (_, flood) => {
    server = await startHttp2Server(() => undefined)
    const client = open()
    client.send(flood())
    await expectEnd(client)
    expect(server.requests.length).toBeLessThan(700)
  })

  it.each<[string, (stream: number) => Buffer]>([
    ['that are malformed', (stream) => headers(stream, [...get, ['host', 'y']], flags.endStream)],
    [
      'that are reset',
      (stream) =>
        Buffer.concat([headers(stream, post), frame(types.reset, 0, stream, number32(codes.cancel))]),
    ],
  ])('more requests %s than it may have', async (_, request) => {
    server = await startHttp2Server(() => undefined, { dropped: { burst: 5, perSecond: 0 } })
    const client = open()
    client.send(
      many(5, (at) => request(at * 2 + 1)),
      frame(types.ping, 0, 0, '12345678'),
    )
    await client.saw(types.ping)
    client.send(many(5, (at) => request(at * 2 + 11)))
    await expectEnd(client)
    expect(codeOf(client.frames.find(({ type }) => type === types.goaway)!)).toBe(codes.calm)
  })

  it('more PING than a library of gRPC sends, also when each is answered', async () => {
    server = await startHttp2Server(undefined, { control: { burst: 50, perSecond: 0 } })
    const client = open()
    client.socket.on('frames', () => client.send(frame(types.ping, 0, 0, '12345678')))
    client.send(frame(types.ping, 0, 0, '12345678'))
    await expectEnd(client)
    expect(codeOf(client.frames.find(({ type }) => type === types.goaway)!)).toBe(codes.calm)
  })
})

// Node.js has aborted the process when it collected a connection with headers that were never complete.
it.each<[string, Buffer]>([
  ['headers without an end', frame(types.headers, 0, 1, block(get))],
  [
    'headers without an end, and more of them',
    Buffer.concat([
      frame(types.headers, 0, 1, block(get)),
      many(2000, () => frame(types.continuation, 0, 1, block([['x', 'a'.repeat(100)]]))),
    ]),
  ],
  [
    'trailers without an end',
    Buffer.concat([headers(1, post), frame(types.headers, 1, 1, block([['x', 'a']]))]),
  ],
  [
    'headers that cannot be read',
    frame(types.headers, 5, 1, Buffer.concat([block(get), Buffer.from([0xff, 0xff, 0x7f])])),
  ],
])('%s do not end the process when their connection is collected', async (_, sent) => {
  server = await startHttp2Server(() => undefined)
  for (let round = 0; round < 4; round++) {
    const client = open()
    client.send(sent)
    await client.saw(types.settings)
    if (round % 2 === 0) client.socket.destroy()
    else client.socket.end()
    await client.closed
    await collectGarbage()
    expect(await server.ask()).toBe(200)
    await collectGarbage()
  }
})

describe('a client that', () => {
  it('has as many streams as it may gets no further one, and the others continue', async () => {
    server = await startHttp2Server(
      (request, response) => {
        if (request.url === '/wait') response.write('x')
        else response.end('hello')
      },
      { streams: 3 },
    )
    const client = open()
    await client.saw(types.settings)
    const wait = get.map(([name, value]) =>
      name === ':path' ? ([name, '/wait'] as const) : ([name, value] as const),
    )
    client.send(...[1, 3, 5].map((stream) => headers(stream, wait, flags.endStream)))
    await client.saw(types.data, 5)
    client.send(headers(7, get, flags.endStream))
    expect(codeOf(await client.saw(types.reset, 7))).toBe(codes.refused)
    client.send(frame(types.reset, 0, 3, number32(codes.cancel)))
    client.send(headers(9, get, flags.endStream))
    await client.saw(types.data, 9)
    expect(server.underWay()).toBe(2)
  })

  it('sends headers that refer to a large one in the table has each such request refused', async () => {
    server = await startHttp2Server()
    const client = open()
    // A literal that enters the table with the index 62, and references to it.
    const large = Buffer.concat([Buffer.from([0x40, 1, 0x78, 127, 0xb9, 0x16]), Buffer.alloc(3000, 'a')])
    const bomb = Buffer.concat([block(get), Buffer.alloc(8000, 0xbe)])
    const all = flags.endStream | flags.endHeaders
    client.send(frame(types.headers, all, 1, Buffer.concat([block(get), large])))
    client.send(many(100, (at) => frame(types.headers, all, at * 2 + 3, bomb)))
    expect(codeOf(await client.saw(types.reset, 201))).toBe(codes.calm)
    expect(server.requests).toHaveLength(1)
    expect(await server.ask()).toBe(200)
  })

  it('never reads gets a bounded part of an answer', async () => {
    let written = 0
    server = await startHttp2Server((_request, response) => {
      const fill = () => {
        while (!response.destroyed) {
          written += 65_536
          if (!response.write(Buffer.alloc(65_536))) return
        }
      }
      response.on('drain', fill)
      fill()
    })
    const client = open(false)
    client.send(preface, frame(types.settings, 0, 0, Buffer.from('000400000000', 'hex')))
    client.send(...[1, 3, 5].map((stream) => headers(stream, get, flags.endStream)))
    await client.saw(types.headers, 5)
    expect(await server.ask()).toBe(200)
    expect(written).toBeLessThan(2_000_000)
    client.socket.destroy()
    await expect.poll(() => server.underWay()).toBe(0)
  })

  it.each<[string, (client: RawClient) => void]>([
    ['closes its connection without GOAWAY', ({ socket }) => socket.end()],
    ['resets its connection', ({ socket }) => socket.resetAndDestroy()],
    ['resets its stream', (client) => client.send(frame(types.reset, 0, 1, number32(codes.cancel)))],
    ['resets its stream without an error', (client) => client.send(frame(types.reset, 0, 1, number32(0)))],
    ['sends GOAWAY with an error', (client) => client.send(frame(types.goaway, 0, 0, number32(0, 2)))],
  ])('%s is missed: its upload is cut off, and its request ends', async (_, leave) => {
    server = await startHttp2Server(() => undefined)
    const client = open()
    client.send(headers(1, post), frame(types.data, 0, 1, 'part'))
    await expect.poll(() => server.requests[0]?.body()).toBe('part')
    leave(client)
    await expect.poll(() => server.underWay()).toBe(0)
    expect(server.requests[0]!.outcome()).toBe('cut')
  })

  it('sends a body beyond its window loses its connection', async () => {
    server = await startHttp2Server((request) => request.pause())
    const client = open()
    await client.saw(types.settings)
    client.send(frame(types.settings, flags.ack, 0), headers(1, post))
    client.send(many(40, () => frame(types.data, 0, 1, Buffer.alloc(16_384))))
    await expectEnd(client)
  })

  it('sends a body that is not read fills its window and no more', async () => {
    let read = 0
    server = await startHttp2Server((request) => {
      request.removeAllListeners('data')
      request.pause()
      read++
    })
    const session = server.connect()
    const stream = session.request({ ':method': 'POST' })
    stream.on('error', () => undefined)
    let sent = 0
    const fill = () => {
      while (sent < 10_000_000 && stream.write(Buffer.alloc(16_384))) sent += 16_384
    }
    stream.on('drain', fill)
    fill()
    await expect.poll(() => read).toBe(1)
    expect(await server.ask()).toBe(200)
    expect(sent).toBeLessThan(1_000_000)
  })
})

describe('the first bytes of a connection', () => {
  it.each([1, 5, 23])('may come in pieces of %i bytes for HTTP/2', async (size) => {
    server = await startHttp2Server()
    const client = open(false)
    const bytes = Buffer.concat([
      Buffer.from(preface),
      frame(types.settings, 0, 0),
      headers(1, get, flags.endStream),
    ])
    client.socket.setNoDelay(true)
    for (let at = 0; at < bytes.length; at += size) {
      client.send(bytes.subarray(at, at + size))
      await new Promise(setImmediate)
    }
    await client.saw(types.data, 1)
  })

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'PROPFIND'])(
    'may come one by one for HTTP/1.1 with %s',
    async (method) => {
      server = await startHttp2Server()
      const client = open(false)
      let answer = ''
      client.socket.on('data', (chunk) => {
        answer += chunk
      })
      client.socket.setNoDelay(true)
      for (const byte of `${method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`) {
        client.send(byte)
        await new Promise(setImmediate)
      }
      await expect.poll(() => answer).toContain('200 OK')
    },
  )

  it.each([['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r'], ['PRI * HTTP/1.1\r\n\r\n'], ['PRX']])(
    'that are nearly those of HTTP/2 are not: %j',
    async (bytes) => {
      server = await startHttp2Server()
      const client = open(false)
      let answer = ''
      client.socket.on('data', (chunk) => {
        answer += chunk
      })
      client.send(bytes)
      client.socket.end()
      await client.closed
      expect(answer.slice(0, 12)).toMatch(/^(?:HTTP\/1.1 400)?$/)
      expect(server.requests).toEqual([])
    },
  )

  it.each(['', 'PRI * HT'])('that stop after %j are waited for no longer than for headers', async (bytes) => {
    server = await startHttp2Server(undefined, {}, { bodySeconds: 0.3 })
    const client = open(false)
    client.send(bytes)
    await client.closed
    expect(await server.ask()).toBe(200)
  })
})
