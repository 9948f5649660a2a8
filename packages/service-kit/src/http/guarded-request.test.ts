/** What a guarded request sends, and which answers it gives back; `get-guarded-json.test.ts` has where it may go. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../tests/harness/direct-network.ts'
import { createGuardedFetch, type FetchInit } from './guarded-fetch.ts'
import { createGuardedRequest } from './guarded-request.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  closing.push(() => server.close().closeAllConnections())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server that answers anything with the same bytes. */
async function serveBytes(bytes: string): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).write(bytes)
  }).listen(0, '127.0.0.1')
  closing.push(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A name server that knows this machine only. */
const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
const send = createGuardedRequest({ outbound: directNetwork, allowsPrivate: true, resolve })
const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (cause: Error) => cause.message,
  )

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server that answers with what it was sent. */
const echo = () =>
  serve(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const { method, url, headers } = request
    const seen: Seen = { method, url, headers, body: Buffer.concat(parts).toString() }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(seen))
  })

describe('a request', () => {
  it('has the path and query of its URL, its host, and no body', async () => {
    const url = (await echo()).replace('127.0.0.1', 'issuer.example')
    const { status, contentType, body } = await send(`${url}/a%20b?c=d#e`, { method: 'GET', headers: {} })
    expect([status, contentType]).toEqual([200, 'application/json'])
    expect(JSON.parse(body.toString())).toEqual({
      method: 'GET',
      url: '/a%20b?c=d',
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        host: url.slice('http://'.length),
        connection: 'close',
      },
      body: '',
    })
  })

  it('has its own headers and body, with the length in bytes; its encoding and host stay', async () => {
    const url = await echo()
    const headers = { accept: 'text/plain', 'accept-encoding': 'gzip', host: 'other.example', 'x-own': '1' }
    const { body } = await send(`${url}/`, { method: 'POST', headers, body: 'grün' })
    expect(JSON.parse(body.toString())).toMatchObject({
      method: 'POST',
      headers: {
        accept: 'text/plain',
        'accept-encoding': 'identity',
        host: url.slice('http://'.length),
        'x-own': '1',
        'content-length': '5',
      },
      body: 'grün',
    })
  })

  it.each([
    ['http:', 80],
    ['https:', 443],
  ])('of %s has the port %i, unless its URL has one', async (scheme, port) => {
    const request = createGuardedRequest({
      outbound: directNetwork,
      allowsPrivate: true,
      resolve: async () => [{ address: '127.0.0.77', family: 4 }],
    })
    /** As the message of a refused connection names it; undefined if a program of this machine has the port. */
    const portOf = async (url: string) =>
      /127\.0\.0\.77:(\d+)/.exec(await messageOf(request(url, { method: 'GET', headers: {} })))?.[1]
    expect(await portOf(`${scheme}//issuer.example:9/`)).toBe('9')
    expect([`${port}`, undefined]).toContain(await portOf(`${scheme}//issuer.example/`))
  })

  it.each([
    ['issuer.example', true],
    ['127.0.0.1', false],
  ])('to https://%s begins with TLS, and names the host there if it is a name: %j', async (host, isNamed) => {
    let sent = Buffer.alloc(0)
    const server = createTcpServer((socket) => {
      socket.once('data', (bytes) => {
        sent = bytes
        socket.destroy()
      })
    }).listen(0, '127.0.0.1')
    closing.push(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await messageOf(send(`https://${host}:${port}/`, { method: 'GET', headers: {} }))
    // A handshake record (RFC 8446 § 5.1).
    expect(sent[0]).toBe(22)
    expect(sent.includes(host)).toBe(isNamed)
  })
})

describe('an answer', () => {
  const get = (url: string) => send(url, { method: 'GET', headers: {} })

  it.each([200, 201, 299, 400, 500])('with the status %i is given back', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end('x'))
    expect(await get(url)).toEqual({ status, contentType: '', body: Buffer.from('x') })
  })

  it.each([300, 304, 399])('with the status %i is a redirect', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end())
    expect(await messageOf(get(url))).toBe(
      `${url} answered with a redirect (HTTP ${status}), which is not followed`,
    )
  })

  it('may state that it is not compressed; another encoding is named, up to 40 characters', async () => {
    const url = await serve((request, response) =>
      response.writeHead(200, { 'content-encoding': request.url!.slice(1) }).end('x'),
    )
    expect(await messageOf(get(`${url}/identity`))).toBe('answered')
    expect(await messageOf(get(`${url}/${'z'.repeat(50)}`))).toMatch(/with the encoding z{40}$/)
  })

  it('that breaks off in the middle of its body is refused, and ends nothing else', async () => {
    const url = await serveBytes(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nno length\r\n',
    )
    expect(await messageOf(get(url))).toBe('aborted')
  })

  it('is not read further once it is refused: the connection is closed', async () => {
    let closed: Promise<unknown> | undefined
    const url = await serve((_, response) => {
      closed = once(response, 'close')
      response.writeHead(302).write('x')
    })
    const patient = createGuardedRequest({ outbound: directNetwork, allowsPrivate: true, timeoutMs: 600_000 })
    expect(await messageOf(patient(url, { method: 'GET', headers: {} }))).toMatch(/redirect/)
    expect(await closed).toEqual([])
  })

  it('that does not come in time is refused with the cause', async () => {
    const url = await serve(() => undefined)
    const impatient = createGuardedRequest({ outbound: directNetwork, allowsPrivate: true, timeoutMs: 50 })
    await expect(impatient(url, { method: 'GET', headers: {} })).rejects.toMatchObject({
      message: `${url} did not answer within 0.05 s`,
      cause: { name: 'AbortError' },
    })
  })

  it('that ends with the connection, too early, is refused with the reason', async () => {
    const url = await serve((request) => request.socket.destroy())
    expect(await messageOf(get(url))).toBe('socket hang up')
  })
})

describe('fetch', () => {
  const fetchGuarded = createGuardedFetch({ outbound: directNetwork, allowsPrivate: true, resolve })
  const seenOf = async (init?: FetchInit) => (await (await fetchGuarded(await echo(), init)).json()) as Seen

  it('sends GET without more, and a text or a form with POST', async () => {
    expect(await seenOf()).toMatchObject({ method: 'GET', body: '' })
    expect(await seenOf({ body: null })).toMatchObject({ method: 'GET', body: '' })
    expect((await seenOf()).headers).not.toHaveProperty('content-length')
    expect(await seenOf({ method: 'POST', body: 'a' })).toMatchObject({ method: 'POST', body: 'a' })
    const form = new URLSearchParams({ a: 'b c' })
    const headers = { 'x-own': '1' }
    expect(await seenOf({ method: 'POST', body: form, headers })).toMatchObject({ body: 'a=b+c', headers })
    expect((await seenOf({ method: 'POST', body: '' })).headers).toMatchObject({ 'content-length': '0' })
  })

  it.each(['PUT', 'get', 'CONNECT', ''])('does not send %j', async (method) => {
    const url = await echo()
    expect(await messageOf(fetchGuarded(url, { method }))).toBe(`${method} is not sent to ${url}`)
  })

  it.each([1, {}, new Uint8Array(1), new Blob(['x']), false])('does not send the body %j', async (body) => {
    const url = await echo()
    expect(await messageOf(fetchGuarded(url, { method: 'POST', body }))).toBe(
      `the body for ${url} is neither a text nor a form`,
    )
  })

  it.each([200, 201, 400, 599])('gives back an answer with the status %i and its body', async (status) => {
    const url = await serve((_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"x"}'),
    )
    const response = await fetchGuarded(url)
    expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
      status,
      'application/json',
      { error: 'x' },
    ])
  })

  it.each([204, 205])('gives back an answer with the status %i, which has no body', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end())
    const response = await fetchGuarded(url)
    expect([response.status, response.body]).toEqual([status, null])
  })

  it.each(['099', '600', '999'])('refuses the status %s', async (status) => {
    const url = await serveBytes(`HTTP/1.1 ${status} Other\r\ncontent-length: 0\r\n\r\n`)
    expect(await messageOf(fetchGuarded(url))).toBe(`${url} answered HTTP ${Number(status)}`)
  })

  const ambiguous = '{"iss":"a","iss":"b"}'
  const answerOf = async (type: string, body: string | Buffer) => {
    const url = await serve((_, response) => response.writeHead(200, { 'content-type': type }).end(body))
    return messageOf(fetchGuarded(url))
  }

  it.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/problem+json',
    'application/token-introspection.v1+json',
  ])('reads %s strictly', async (type) => {
    expect(await answerOf(type, '{"iss":"a"}')).toBe('answered')
    expect(await answerOf(type, ambiguous)).not.toBe('answered')
    expect(await answerOf(type, Buffer.from([0x22, 0xff, 0x22]))).not.toBe('answered')
    expect(await answerOf(type, `${'['.repeat(16)}${']'.repeat(16)}`)).toBe('answered')
    expect(await answerOf(type, `${'['.repeat(17)}${']'.repeat(17)}`)).not.toBe('answered')
  })

  it.each(['text/html', 'application/jwt', 'application/a b+json', 'x-application/json', ''])(
    'does not read %j',
    async (type) => {
      expect(await answerOf(type, ambiguous)).toBe('answered')
    },
  )
})

describe('behind a proxy', () => {
  /** A proxy that notes which names it would get; no connection is opened. */
  function proxied(address: string) {
    const names: unknown[] = []
    const agent = new HttpsAgent()
    agent.createConnection = (options, callback) => {
      const { host, lookup } = options as { host: string; lookup: LookupFunction }
      lookup(host, { all: true }, (cause) => {
        if (!cause) names.push(host)
        callback?.(cause ?? new Error('the proxy has it'), undefined as never)
      })
      return undefined
    }
    const outbound = { agentFor: () => agent, isProxied: () => true }
    const resolveTo = async () => [{ address, family: 4 }]
    const request = createGuardedRequest({ allowsPrivate: false, outbound, resolve: resolveTo })
    return { names, get: (url: string) => messageOf(request(url, { method: 'GET', headers: {} })) }
  }

  it('a name with a public address is handed to it, and one that leads into the own network is not', async () => {
    const open = proxied('93.184.215.14')
    expect(await open.get('https://issuer.example/')).toBe('the proxy has it')
    expect(open.names).toEqual(['issuer.example'])
    const inside = proxied('10.0.0.1')
    expect(await inside.get('https://issuer.example/')).toContain(
      'resolves to no address that may be connected to',
    )
    expect(await inside.get('https://10.0.0.1/')).toContain('is an address that is not connected to')
    expect(inside.names).toEqual([])
  })

  it('plain HTTP is for this machine, and never handed to it', async () => {
    const url = await serve((_, response) => response.end('local'))
    const agentFor = (to: URL | string) => {
      if (new URL(to).hostname !== 'localhost') throw new Error('a proxy was asked for')
      return directNetwork.agentFor(to, 'foreign')
    }
    const request = createGuardedRequest({
      ...{ allowsPrivate: true, resolve },
      outbound: { agentFor, isProxied: () => true },
    })
    const { body } = await request(url.replace('127.0.0.1', 'issuer.example'), { method: 'GET', headers: {} })
    expect(body.toString()).toBe('local')
  })
})
