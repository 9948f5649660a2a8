/** One request of a program: where it leads, what it sends, and which answers it refuses. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createNodeFetch } from './node-fetch.ts'

let folder: string
let server: Server
let url: string
let seen: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[]
let answer: (response: ServerResponse) => unknown
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-'))
  seen = []
  answer = (response) => response.setHeader('X-A', 'b').end('{}')
  server = createServer(async (request, response) => {
    seen.push({ method: request.method, headers: request.headers, body: await text(request) })
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

const init = (more: object = {}) =>
  ({ method: 'GET', headers: {}, signal: new AbortController().signal, redirect: 'error', ...more }) as never

it('an answer has its status, its headers and its text', async () => {
  const response = await createNodeFetch()(url, init())
  expect([response.status, response.headers.get('x-A'), response.headers.get('missing')]).toEqual([
    200,
    'b',
    null,
  ])
  expect(await response.text()).toBe('{}')
})

it('a request has its body with its length, and the name of the program', async () => {
  const fetch = createNodeFetch({ userAgent: 'test' })
  await fetch(url, init({ method: 'POST', headers: { A: 'b' }, body: 'grün' }))
  await fetch(url, init({ method: 'POST' }))
  await createNodeFetch()(url, init())
  expect(seen).toMatchObject([
    { method: 'POST', body: 'grün', headers: { 'content-length': '5', a: 'b', 'user-agent': 'test' } },
    { method: 'POST', body: '', headers: { 'content-length': '0' } },
    { method: 'GET', body: '' },
  ])
  expect(seen[2]!.headers).not.toHaveProperty('content-length')
  expect(seen[2]!.headers).not.toHaveProperty('user-agent')
})

it('a socket is used in place of the host, and a network for its agent', async () => {
  const socketPath = join(folder, 's.sock')
  server.close()
  server.closeAllConnections()
  server.listen(socketPath)
  await once(server, 'listening')
  expect((await createNodeFetch({ socketPath })('http://localhost/', init())).status).toBe(200)
  const asked: string[][] = []
  const agentFor = (...of: string[]) => {
    asked.push(of)
    throw new Error('no way')
  }
  await expect(createNodeFetch({ network: { agentFor } as never })(url, init())).rejects.toThrow('no way')
  expect(asked).toEqual([[url, 'service']])
})

it.each([300, 301, 307, 399])('a redirect is not followed: %i', async (status) => {
  answer = (response) => response.writeHead(status, { Location: 'https://eve.example' }).end()
  await expect(createNodeFetch()(url, init())).rejects.toThrow(
    'it redirects to https://eve.example, which is not followed',
  )
})

it.each([
  [300, {}],
  [299, { Location: 'x' }],
  [400, { Location: 'x' }],
])('an answer of %i with %j is not a redirect', async (status, headers) => {
  answer = (response) => response.writeHead(status, headers).end('x')
  expect(await createNodeFetch()(url, init())).toMatchObject({ status })
})

it('an answer that changes the protocol, is too large or breaks off is a failure', async () => {
  answer = ({ socket }) => socket!.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  await expect(createNodeFetch()(url, init())).rejects.toThrow('it answers by changing the protocol')
  answer = (response) => response.end(Buffer.alloc(16 * 1024 * 1024 + 1))
  await expect(createNodeFetch()(url, init())).rejects.toThrow(/16,?777,?216|too large|more than/)
  answer = (response) => response.end(Buffer.alloc(16 * 1024 * 1024, 'x'))
  expect((await (await createNodeFetch()(url, init())).text()).length).toBe(16 * 1024 * 1024)
  answer = (response) => {
    response.write('x')
    setImmediate(() => response.destroy())
  }
  await expect(createNodeFetch()(url, init())).rejects.toThrow(/aborted|hang up/)
})

it('a request is cancelled, before and after it began', async () => {
  const controller = new AbortController()
  answer = () => controller.abort(new Error('enough'))
  await expect(createNodeFetch()(url, init({ signal: controller.signal }))).rejects.toThrow('enough')
  server.close()
  server.closeAllConnections()
  await expect(createNodeFetch()(url, init())).rejects.toThrow('ECONNREFUSED')
})

it('an answer that changes the protocol leaves no connection open', async () => {
  const closed = Promise.withResolvers<void>()
  answer = ({ socket }) => {
    socket!.once('close', () => closed.resolve())
    socket!.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  }
  await expect(createNodeFetch()(url, init())).rejects.toThrow('changing the protocol')
  await closed.promise
})

it('requests over a socket share a connection, and need no signal', async () => {
  const socketPath = join(folder, 's.sock')
  server.close()
  server.closeAllConnections()
  server.listen(socketPath)
  await once(server, 'listening')
  let connections = 0
  server.on('connection', () => connections++)
  const fetch = createNodeFetch({ socketPath })
  for (let count = 0; count < 3; count++) await fetch('http://localhost/', init({ signal: undefined }))
  expect(connections).toBe(1)
})

it('the proxy of the environment is not used unless a network is given', async () => {
  vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9')
  vi.stubEnv('http_proxy', 'http://127.0.0.1:9')
  vi.stubEnv('NO_PROXY', '')
  vi.stubEnv('no_proxy', '')
  expect((await createNodeFetch()(url, init())).status).toBe(200)
  vi.unstubAllEnvs()
})
