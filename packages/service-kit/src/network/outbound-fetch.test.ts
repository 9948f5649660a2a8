/** Answers of services that are slow, compressed, endless, or lead elsewhere. */
import { once } from 'node:events'
import { Agent, createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../tests/harness/direct-network.ts'
import { createOutboundFetch } from './outbound-fetch.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  closing.push(() => server.close().closeAllConnections())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function serveBytes(bytes: string): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).write(bytes)
  }).listen(0, '127.0.0.1')
  closing.push(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const agent = new Agent()
const through = createOutboundFetch({ agentFor: () => agent, isProxied: () => true })
const directly = createOutboundFetch(directNetwork)
const never = new AbortController().signal
const get = (url: string, signal = never) =>
  through(url, { headers: { 'x-own': '1' }, signal, redirect: 'error' })

describe.each([
  ['through a proxy', through],
  ['directly', directly],
])('%s', (_, fetch) => {
  it('an answer has its status, type, body and URL', async () => {
    const url = await serve(({ method, headers }, response) => {
      response.writeHead(201, { 'content-type': 'application/json' })
      response.end(JSON.stringify([method, headers['x-own']]))
    })
    const response = await fetch(url, { headers: { 'x-own': '1' }, signal: never, redirect: 'error' })
    expect([response.status, response.ok, response.url]).toEqual([201, true, url])
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual(['GET', '1'])
  })

  it('a redirect is an error', async () => {
    const url = await serve((_request, response) => response.writeHead(302, { location: '/other' }).end())
    await expect(fetch(url, { signal: never, redirect: 'error' })).rejects.toThrow()
  })

  it('a request ends with its signal, before and within its answer', async () => {
    const stop = new AbortController()
    const url = await serve((request, response) => {
      if (request.url === '/') setImmediate(() => stop.abort())
      else response.write('a')
    })
    await expect(fetch(url, { signal: stop.signal, redirect: 'error' })).rejects.toThrow()
    const later = new AbortController()
    const response = await fetch(`${url}a`, { signal: later.signal, redirect: 'error' })
    later.abort()
    await expect(response.text()).rejects.toThrow()
  })
})

/** Answers the first request on each connection, and closes the connection at the next one. @returns requests as they came, by connection */
async function serveOnce() {
  const got: number[] = []
  const connections: object[] = []
  const url = await serve(({ socket }, response) => {
    const isReused = connections.includes(socket)
    if (!isReused) connections.push(socket)
    got.push(connections.indexOf(socket))
    if (isReused) socket.destroy()
    else response.end('{}')
  })
  return { got, url }
}

it('a request on a connection that was just closed is sent once more, on a new one', async () => {
  const { got, url } = await serveOnce()
  for (let at = 0; at < 2; at++) {
    const response = await directly(url, { signal: never, redirect: 'error' })
    expect(await response.text()).toBe('{}')
  }
  expect(got).toEqual([0, 0, 1])
})

it('a request on a new connection that is closed is not sent again', async () => {
  let requests = 0
  const url = await serve(({ socket }) => {
    requests++
    socket.destroy()
  })
  await expect(directly(url, { signal: never, redirect: 'error' })).rejects.toThrow('hang up')
  expect(requests).toBe(1)
})

it('an answer with status 204 has an empty body', async () => {
  const url = await serve((_, response) => response.writeHead(204).end())
  expect(await (await get(url)).text()).toBe('')
})

it.each([
  [
    'compresses it',
    'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n',
    'answered HTTP 200 with the encoding gzip',
  ],
  ['has a status of no answer', 'HTTP/1.1 700 X\r\n\r\n', 'answered HTTP 700'],
  [
    'redirects it',
    'HTTP/1.1 307 X\r\nLocation: http://a.example\r\n\r\n',
    'a redirect (HTTP 307), which is not followed',
  ],
  [
    'changes the protocol',
    'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'changing the protocol',
  ],
  ['announces it for ever', 'HTTP/1.1 102 X\r\n\r\n'.repeat(50), 'announces its answer without end'],
  ['sends no HTTP', 'SSH-2.0\r\n\r\n', 'Parse Error'],
])('a server that %s is an error', async (_, bytes, message) => {
  await expect(get(await serveBytes(bytes))).rejects.toThrow(message)
})
