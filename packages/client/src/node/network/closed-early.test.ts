/** Connections that are closed before their answer begins: reused ones in the instant of the next request, and tunnels that wait too long. */
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import {
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import { startConnectProxy } from '../../../../../tests/harness/connect-proxy.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { send } from '../../send.ts'
import { createNodeFetch } from '../node-fetch.ts'
import { noteClosings } from './closed-early.ts'
import { createNetwork, type Network } from './network.ts'
import type { Use } from './openers.ts'

describe('connections that close early', needs('openssl'), () => {
  let folder: string
  let authority: TestAuthority
  const closing: (() => unknown)[] = []
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'closed-early-'))
    authority = makeAuthority(folder, 'company')
  })
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  type Answer = (request: IncomingMessage, response: ServerResponse, at: { connection: number }) => void

  /** @returns its port, and the requests that it gets: method and number of the connection */
  async function serve(isSecure: boolean, answer: Answer) {
    const server = isSecure ? createTlsServer(authority.issue('a.example')) : createServer()
    const got: string[] = []
    const connections = new Map<Socket, number>()
    server.on('request', (request, response) => {
      const { socket } = request
      const connection = connections.get(socket) ?? connections.size + 1
      connections.set(socket, connection)
      got.push(`${request.method} ${connection}`)
      answer(request, response, { connection })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close().closeAllConnections())
    return { port: (server.address() as AddressInfo).port, got }
  }

  /** A name that leads to this machine. */
  const here: LookupFunction = (_, options, callback) =>
    options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)

  /** For requests without a lookup of their own. */
  function resolveHere(network: Network, url: string): void {
    const { options } = network.agentFor(url, 'service') as unknown as { options: object }
    Object.assign(options, { lookup: here })
  }

  function get(network: Network, url: string, use: Use) {
    return new Promise<string>((resolve, reject) => {
      const start = url.startsWith('https:') ? httpsRequest : httpRequest
      start(url, { agent: network.agentFor(url, use), lookup: here }, (response) => {
        response.on('error', reject).resume()
        response.on('end', () => resolve(`HTTP ${response.statusCode}`))
      })
        .on('error', reject)
        .end()
    })
  }

  describe.each([
    ['without TLS', false],
    ['with TLS', true],
  ])(
    'a connection %s that is closed in the instant in which it is used again',
    needs('openssl'),
    (_, isSecure) => {
      /** Closes each connection at its second request, without an answer. */
      const closeReused: Answer = ({ socket, url }, response) => {
        const before = (socket as Socket & { before?: number }).before ?? 0
        Object.assign(socket, { before: before + 1 })
        if (before > 0 && url !== '/warm') socket.destroy()
        else response.end('{}')
      }

      async function setUp() {
        const server = await serve(isSecure, closeReused)
        const network = createNetwork({ caFile: authority.path, env: {} })
        const url = `${isSecure ? 'https' : 'http'}://a.example:${server.port}`
        resolveHere(network, url)
        const ask = (request: object = {}) =>
          send({ url, fetch: createNodeFetch({ network }) }, { method: 'GET', path: '/', ...request }).then(
            ({ status }) => status,
            (cause: Error & { reason: string }) => `${cause.reason}: ${cause.message}`,
          )
        return { ...server, ask }
      }

      it('has its request sent once more, on a new connection', async () => {
        const { ask, got } = await setUp()
        expect([await ask(), await ask()]).toEqual([200, 200])
        expect(got).toEqual(['GET 1', 'GET 1', 'GET 2'])
      })

      it('has no request sent again that may have an effect twice', async () => {
        const { ask, got } = await setUp()
        await ask()
        expect(await ask({ method: 'POST', body: '{}' })).toContain('not_running: nothing answers at ')
        expect(got).toEqual(['GET 1', 'POST 1'])
      })

      it('has one sent again of which the service makes the same, with new headers', async () => {
        const { ask, got } = await setUp()
        await ask()
        let made = 0
        const headers = () => ({ attempt: String(++made) })
        expect(await ask({ method: 'POST', body: '{}', isRepeatable: true, headers })).toBe(200)
        expect([got, made]).toEqual([['GET 1', 'POST 1', 'POST 2'], 2])
      })

      it('closes the others that wait, which are as old', async () => {
        const { ask, got } = await setUp()
        const warm = { path: '/warm' }
        await Promise.all([ask(warm), ask(warm)])
        expect(await ask()).toBe(200)
        expect([got.length, got.at(-1)]).toEqual([4, 'GET 3'])
      })
    },
  )

  it('a request on a new connection is not sent again', async () => {
    const { port, got } = await serve(false, ({ socket }) => void socket.destroy())
    const network = createNetwork({ env: {} })
    resolveHere(network, 'http://a.example')
    const asked = send(
      { url: `http://a.example:${port}`, fetch: createNodeFetch({ network }) },
      { method: 'GET', path: '/' },
    )
    await expect(asked).rejects.toMatchObject({ reason: 'not_running' })
    expect(got).toEqual(['GET 1'])
  })

  it('a request with a part of an answer is not sent again', async () => {
    const { port, got } = await serve(false, ({ socket }, response) => {
      if (got.length === 1) response.end('{}')
      else socket.end('HTTP/1.1 200')
    })
    const network = createNetwork({ env: {} })
    resolveHere(network, 'http://a.example')
    const connection = { url: `http://a.example:${port}`, fetch: createNodeFetch({ network }) }
    await send(connection, { method: 'GET', path: '/' })
    await expect(send(connection, { method: 'GET', path: '/' })).rejects.toMatchObject({
      reason: 'not_running',
    })
    expect(got).toEqual(['GET 1', 'GET 1'])
  })

  describe('a proxy that closes a tunnel before the answer', needs('openssl'), () => {
    const hint =
      /through the proxy http:\/\/127.0.0.1:\d+ was closed before the answer came\. .* longer limit/

    async function setUp(isSecure: boolean) {
      let isSilent = true
      const asked = Promise.withResolvers<void>()
      const server = await serve(isSecure, (_, response) => {
        if (!isSilent) return void response.end('{}')
        isSilent = false
        asked.resolve()
      })
      const proxy = await startConnectProxy({ portOf: () => server.port })
      closing.push(() => proxy.close())
      const network = createNetwork({ proxy: proxy.url, caFile: authority.path, env: {} })
      return {
        network,
        proxy,
        asked: asked.promise,
        url: isSecure ? 'https://a.example' : 'http://a.example',
      }
    }

    it.each([
      ['with TLS', true],
      ['without TLS', false],
    ])('is named (%s), until the next request succeeds', async (_, isSecure) => {
      const { network, proxy, asked, url } = await setUp(isSecure)
      const answered = get(network, url, 'service').catch((cause: Error) => cause.message)
      await asked
      proxy.cut()
      expect(await answered).toMatch(hint)
      expect(network.status().problem).toMatch(hint)
      expect(await get(network, url, 'service')).toBe('HTTP 200')
      expect(network.status().problem).toBeUndefined()
    })

    it('is named in the error alone where another user named the server', async () => {
      const { network, proxy, asked, url } = await setUp(false)
      const answered = get(network, url, 'foreign').catch((cause: Error) => cause.message)
      await asked
      proxy.cut()
      expect(await answered).toMatch(hint)
      expect(network.status().problem).toBeUndefined()
    })

    it('is not named where this program closed the connection', async () => {
      const { network, asked, url } = await setUp(true)
      const answered = get(network, url, 'service').catch((cause: Error) => cause.message)
      await asked
      network.renew('all')
      expect(await answered).toBe('socket hang up')
      expect(network.status().problem).toBeUndefined()
    })
  })
})

describe('an error of a request', () => {
  /** Gives it an error. @returns what was called, and whether the error is marked */
  function fail(code: string, { reused = true, read = 0, hasSocket = true } = {}) {
    const socket = { bytesRead: 7 }
    const request = Object.assign(new EventEmitter(), { reusedSocket: reused, socket: undefined as unknown })
    const called: string[] = []
    noteClosings(request as unknown as ClientRequest, {
      onClosed: () => called.push('closed'),
      onReusedClosed: () => called.push('reused'),
    })
    request.on('error', () => called.push('error'))
    if (hasSocket) {
      request.socket = socket
      request.emit('socket', socket)
    }
    socket.bytesRead += read
    const cause = Object.assign(new Error(code), { code, wasReused: undefined })
    request.emit('error', cause)
    return [...called, ...(cause.wasReused ? ['marked'] : [])]
  }

  it.each(['ECONNRESET', 'EPIPE'])('%s is of a closed connection, before who asked has it', (code) => {
    expect(fail(code)).toEqual(['closed', 'reused', 'error', 'marked'])
    expect(fail(code, { reused: false })).toEqual(['closed', 'error'])
  })

  it('is not if it has another code, a part of the answer came, or there was no connection', () => {
    expect(fail('ECONNREFUSED')).toEqual(['error'])
    expect(fail('EPIPE', { read: 1 })).toEqual(['error'])
    expect(fail('EPIPE', { hasSocket: false })).toEqual(['error'])
  })
})
