/** Requests with a token to a service: they lead to that service and to nothing else. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readServicePath, requestService } from './service-request.ts'

it.each([
  ['', '/van'],
  ['/', '/van/'],
  ['items', '/van/items'],
  ['/items?limit=1', '/van/items?limit=1'],
  ['?a=b', '/van?a=b'],
  ['/a/../b', '/van/b'],
  ['//eve.example/x', '/van//eve.example/x'],
  ['://b', '/van/://b'],
  ['x?y=https://z', '/van/x?y=https://z'],
  ['x/https://z', '/van/x/https://z'],
])('the path %j is below the service: %s', (path, expected) => {
  expect(readServicePath('/van', path)).toBe(expected)
})

it.each(['https://eve.example/x', 'HTTP://eve.example', 'a+b.c-1://x'])('the URL %j is refused', (path) => {
  expect(() => readServicePath('/van', path)).toThrow(/ is a URL, and the token is sent only/)
})

it.each(['/..', '/../other', '/a/../../vanity', '/%2e%2e/other', '\\..\\..\\x'])(
  'the path %j leads out',
  (path) => {
    expect(() => readServicePath('/van', path)).toThrow(/leads out of the service/)
  },
)

it.each(['@eve.example', ':80', ':99999', '.eve.example'])(
  'a base path that names a host is refused: %j',
  (base) => {
    expect(() => readServicePath(base, '/x')).toThrow(/leads out of the service/)
  },
)

let server: Server
let url: string
let seen: {
  headers: IncomingMessage['headers']
  method?: string | undefined
  url?: string | undefined
  body: string
}
let answer: (response: ServerResponse) => void
beforeEach(async () => {
  answer = (response) => response.writeHead(302, { Location: 'https://eve.example' }).end('moved')
  server = createServer(async (request, response) => {
    const { headers, method, url } = request
    seen = { headers, method, url, body: await text(request) }
    answer(response)
  })
  server.on('connect', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const connection = () => ({ url, edgeAccessToken: 't' })
const request = (more: object = {}) =>
  requestService(connection(), { method: 'POST', path: '/van/items', headers: { 'X-A': 'b' }, ...more })

it('a request has the token and the headers, and its answer is not followed', async () => {
  const { status, headers, body } = await request({ body: 'grün' })
  expect([status, headers.location, await text(body)]).toEqual([302, 'https://eve.example', 'moved'])
  expect(seen).toMatchObject({ method: 'POST', url: '/van/items', body: 'grün' })
  expect(seen.headers).toMatchObject({ authorization: 'Bearer t', 'x-a': 'b', 'content-length': '5' })
  await request({ method: 'GET' })
  expect(seen.headers['content-length']).toBeUndefined()
})

it('a proof is of this request', async () => {
  const bound = { ...connection(), prove: async (method: string, whole: string) => `${method} ${whole}` }
  await requestService(bound, { method: 'GET', path: '/van', headers: {} })
  expect(seen.headers).toMatchObject({ authorization: 'DPoP t', dpop: `GET ${url}/van` })
})

it('an answer that changes the protocol is a failure', async () => {
  answer = ({ socket }) =>
    void socket!.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  await expect(request()).rejects.toMatchObject({
    reason: 'bad_answer',
    message: 'the service answers by changing the protocol',
  })
})

it('a service that does not answer is named', async () => {
  server.close()
  server.closeAllConnections()
  await expect(request()).rejects.toMatchObject({
    reason: 'not_running',
    message: expect.stringContaining(`nothing answers at ${url}: `),
  })
})
