/** Requests over HTTP/2 that two readers might understand differently (RFC 9113 § 8.1.1, § 10.3): they reach no handler. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  block,
  type Fields,
  flags,
  frame,
  headers,
  openRaw,
  types,
} from '../../../../../tests/harness/http2-frames.ts'
import { type Http2TestServer, startHttp2Server } from '../../../../../tests/harness/http2-server.ts'

let server: Http2TestServer
beforeAll(async () => {
  server = await startHttp2Server()
})
afterAll(() => server?.stop())

const get: Fields = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/hostile'],
  [':authority', 'x'],
]
const without = (name: string): Fields => get.filter(([each]) => each !== name)
const having = (...fields: Fields): Fields => [...get, ...fields]
const changed = (name: string, value: string): Fields =>
  get.map((each) => (each[0] === name ? [name, value] : each))

const reached = (): number => server.requests.filter(({ request }) => request.url?.includes('hostile')).length

it.each<[string, Fields]>([
  ['without a method', without(':method')],
  ['without a path', without(':path')],
  ['without a scheme', without(':scheme')],
  ['with an empty path', changed(':path', '')],
  ['with a path that has no slash', changed(':path', 'hostile')],
  ['with a URL as its path', changed(':path', 'http://hostile/')],
  ['with a space in its path', changed(':path', '/hostile HTTP/1.1')],
  ['with a line in its path', changed(':path', '/hostile HTTP/1.1\r\nX: y')],
  ['with two paths', having([':path', '/hostile2'])],
  ['with two methods', [[':method', 'POST'], ...get]],
  ['with a pseudo-header behind a header', [...without(':path'), ['a', 'b'], [':path', '/hostile']]],
  ['with a pseudo-header that does not exist', [[':hostile', 'x'], ...get]],
  ['with a pseudo-header of an answer', [[':status', '200'], ...get]],
  ['with a scheme of files', changed(':scheme', 'file')],
  ['with a method that is two words', changed(':method', 'GET /hostile2')],
  [
    'with CONNECT',
    [
      [':method', 'CONNECT'],
      [':authority', 'hostile:1'],
    ],
  ],
  ['with CONNECT for a WebSocket', [...changed(':method', 'CONNECT'), [':protocol', 'websocket']]],
  ['with two different hosts', having(['host', 'y'])],
  ['with a host that came twice', having(['host', 'x'], ['host', 'x'])],
  ['with a user in its authority', changed(':authority', 'x@y')],
  ['with a path in its authority', changed(':authority', 'x/y')],
  ['with Connection', having(['connection', 'close'])],
  ['with Keep-Alive', having(['keep-alive', 'timeout=1'])],
  ['with Proxy-Connection', having(['proxy-connection', 'close'])],
  ['with Transfer-Encoding', having(['transfer-encoding', 'chunked'])],
  ['with Upgrade', having(['upgrade', 'websocket'])],
  ['with HTTP2-Settings', having(['http2-settings', 'AAMAAABk'])],
  ['with TE of another value than trailers', having(['te', 'gzip'])],
  ['with a header in upper case', having(['X-Hostile', 'a'])],
  ['with two lengths', having(['content-length', '1'], ['content-length', '2'])],
  ['with a negative length', having(['content-length', '-1'])],
  ['with a length in hexadecimal', having(['content-length', '0x10'])],
  ['with a length and no body', having(['content-length', '5'])],
  ['with a long header', having(['x', 'a'.repeat(20_000)])],
  ['with many headers', having(...Array.from({ length: 300 }, (_, at) => [`x-${at}`, 'a'] as const))],
])('a request %s reaches no handler, and others are served', async (_, fields) => {
  const client = openRaw(server.port)
  const all = block(fields)
  const first = all.subarray(0, 16_000)
  const rest = all.subarray(16_000)
  client.send(
    frame(types.headers, flags.endStream | (rest.length === 0 ? flags.endHeaders : 0), 1, first),
    ...(rest.length === 0 ? [] : [frame(types.continuation, flags.endHeaders, 1, rest)]),
    frame(types.ping, 0, 0, '12345678'),
  )
  // What came before a PING was read when its answer comes, or the connection has closed.
  await Promise.race([client.saw(types.ping).catch(() => undefined), client.closed])
  await Promise.race([client.saw(types.reset, 1), client.saw(types.headers, 1), client.closed].map(settled))
  expect(reached()).toBe(0)
  expect(await server.ask()).toBe(200)
  client.socket.destroy()
})

it.each<[string, string, string]>([
  ['without a name', '', 'a'],
  ['with a space in its name', 'x y', 'a'],
  ['with a colon in its name', 'x:y', 'a'],
  ['with a line end in its name', 'x\r\ny', 'a'],
  ['with a line end in its value', 'x', 'a\r\nhostile: b'],
  ['with a line feed in its value', 'x', 'a\nb'],
  ['with NUL in its value', 'x', 'a\0b'],
])('a header %s reaches no handler', async (_, name, value) => {
  const client = openRaw(server.port)
  client.send(headers(1, [...changed(':path', '/dropped'), [name, value]], flags.endStream))
  await Promise.race([client.saw(types.reset, 1), client.saw(types.headers, 1), client.closed].map(settled))
  for (const { request } of server.requests)
    if (request.url === '/dropped') expect(request.rawHeaders).toEqual(['Host', 'x', 'Connection', 'close'])
  client.socket.destroy()
})

const settled = (each: Promise<unknown>) => each.catch(() => new Promise(() => undefined))

it.each<[string, string, string]>([
  ['a body that is shorter than its length', '5', 'abc'],
  ['a body that is longer than its length', '2', 'abc'],
])('%s is cut off', async (_, length, body) => {
  const client = openRaw(server.port)
  client.send(
    headers(1, [...changed(':path', '/length'), ['content-length', length]]),
    frame(types.data, flags.endStream, 1, body),
  )
  await Promise.race([client.saw(types.reset, 1), client.closed].map(settled))
  const seen = () => server.requests.filter(({ request }) => request.url === '/length')
  await expect.poll(() => seen().every(({ outcome }) => outcome() === 'cut')).toBe(true)
  expect(await server.ask()).toBe(200)
  client.socket.destroy()
})

it('a cookie in crumbs is one header, and a host of both names is one host', async () => {
  const client = openRaw(server.port)
  client.send(
    headers(
      1,
      [
        ...changed(':path', '/crumbs'),
        ['host', 'X'],
        ['cookie', 'a=b'],
        ['cookie', 'c=d'],
        ['te', 'trailers'],
      ],
      flags.endStream,
    ),
  )
  await client.saw(types.headers, 1)
  const { request } = server.requests.find(({ request }) => request.url === '/crumbs')!
  expect(request.headers).toMatchObject({ host: 'x', cookie: 'a=b; c=d', te: 'trailers' })
  client.socket.destroy()
})
