import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { manyTurns } from '../../../../tests/harness/unread.ts'
import { createLog } from '../log/index.ts'
import { freePort } from '../testing/index.ts'
import { createHttpApp, listenApp } from './http-app.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Ends the request to /late. */
let finish: (() => void) | undefined

async function start(host: string, port = 0, onUrl = (_url: string): unknown => undefined) {
  const app = createHttpApp(
    createLog({ service: 'test', level: 'error', now: () => 0 }, () => undefined),
    1000,
    {
      vital: [],
      acceptsHost: (name) => name?.startsWith('foreign') === false,
    },
  )
  app.get('/', async () => 'hello')
  app.get('/late', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return 'late'
  })
  closing.push(() => app.close())
  let url = ''
  await listenApp(app, host, port, 'option "x"', (own) => {
    url = own
    onUrl(own)
  })
  return { app, url, port: new URL(url).port }
}

it('localhost is both addresses of the loopback, with the same port, limits and checks', async () => {
  const { app, url, port } = await start('localhost', await freePort())
  expect(url).toBe(`http://127.0.0.1:${port}`)
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe('hello')
  }
  const asked = request({ host: '::1', port, headers: { host: 'foreign.example' } }).end()
  const [answer] = await once(asked, 'response')
  expect(answer.statusCode).toBe(403)
  answer.resume()
  await app.close()
  await expect(fetch(`http://[::1]:${port}/`)).rejects.toThrow()
})

it('an app is closed once the connections of both addresses are', async () => {
  const { app, port } = await start('localhost', await freePort())
  const agent = new Agent({ keepAlive: true })
  closing.push(() => agent.destroy())
  const asked = request({ host: '::1', port, path: '/late', agent }).end()
  await expect.poll(() => finish).toBeDefined()
  let isClosed = false
  const closed = app.close().then(() => {
    isClosed = true
  })
  await manyTurns()
  expect(isClosed).toBe(false)
  finish!()
  const [answer] = await once(asked, 'response')
  expect(await textOf(answer)).toBe('late')
  await closed
})

it('any free port that another program has on ::1 is left to that program', async () => {
  const other = createServer((_, response) => response.end('other'))
  closing.push(() => other.close().closeAllConnections())
  const { port } = await start('localhost', 0, (url) =>
    other.listen({ host: '::1', port: new URL(url).port, ipv6Only: true }),
  )
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello')
  expect(await (await fetch(`http://[::1]:${port}/`)).text()).toBe('other')
})

it('an address is that one alone', async () => {
  const { port } = await start('127.0.0.1')
  await expect(fetch(`http://[::1]:${port}/`)).rejects.toThrow()
  const six = await start('::1')
  expect(six.url).toBe(`http://[::1]:${six.port}`)
})

it('a port that another program has on ::1 alone is an error with its address, and nothing stays open', async () => {
  const other = createServer().listen({ host: '::1', port: 0, ipv6Only: true })
  await once(other, 'listening')
  closing.push(() => other.close())
  const { port } = other.address() as AddressInfo
  await expect(start('localhost', port)).rejects.toThrow(
    `port ${port} of ::1 is in use by another program; stop it or choose another port with option "x"`,
  )
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
})
