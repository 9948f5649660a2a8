/** The gateway as a client and as an attacker sees it, in front of real functions. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createDeveloper, createProject } from '../../harness/flow.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** Answers with what it was sent; paths ask for more. */
const echo = `export default {
  async fetch(request, env, ctx) {
    const { pathname, search } = new URL(request.url)
    if (pathname === '/ws') {
      const { socket, response } = Deno.upgradeWebSocket(request)
      socket.onmessage = ({ data }) => socket.send(data)
      return response
    }
    if (pathname === '/sink') {
      let size = 0
      for await (const chunk of request.body) size += chunk.length
      return new Response(String(size))
    }
    if (pathname === '/source') {
      let left = Number(search.slice(1))
      return new Response(new ReadableStream({ pull(c) { const n = Math.min(left, 65536); left -= n; if (n) c.enqueue(new Uint8Array(n)); else c.close() } }))
    }
    if (pathname === '/events') {
      let at = 0
      return new Response(new ReadableStream({ async pull(c) { if (at === 3) return c.close(); if (at > 0) await new Promise((r) => setTimeout(r, 300)); c.enqueue(new TextEncoder().encode('data: ' + at++ + '\\n\\n')) } }), { headers: { 'content-type': 'text/event-stream' } })
    }
    if (pathname === '/slow') await new Promise((r) => setTimeout(r, 5000))
    if (pathname === '/spin') for (;;);
    if (pathname === '/hop') return new Response('hop', { headers: { connection: 'x-private', 'x-private': 'secret', 'keep-alive': 'timeout=5', 'proxy-authenticate': 'Basic' } })
    if (pathname === '/redirect') return Response.redirect('http://example.com/')
    if (pathname === '/status') return new Response(null, { status: Number(search.slice(1)) })
    const body = ['GET', 'HEAD'].includes(request.method) ? '' : await request.text()
    return Response.json({ method: request.method, path: pathname + search, headers: Object.fromEntries(request.headers), body })
  },
}`

let services: Services
let base: string

beforeAll(async () => {
  services = await startServices()
  base = (await services.deploy('echo', echo, { 'MCM.BASE_API_PATH': '/echo/v1', 'MCM.API_ALIAS': 'true' }))
    .basePath
  await services.deploy('deeper', `export default { fetch: () => new Response('deeper') }`, {
    'MCM.BASE_API_PATH': '/echo/v1/deeper',
  })
  await services.deploy('open', echo, { 'MCM.ACCESS': 'public', 'MCM.PAGES': 'trusted' })
  await services.deploy('own', echo, { 'MCM.ACCESS': 'client', 'MCM.FORWARD_TOKEN': 'true' })
})
afterAll(() => services.stop())

const reasonOf = (text: string): string => JSON.parse(text).error.reason
const { raw } = {
  /** Sends bytes as they are and gives what comes back until the connection ends, or nothing more comes. */
  raw: (bytes: string): Promise<string> =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(services.url())
      const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'))
      let text = ''
      socket.setTimeout(1500, () => socket.destroy())
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(text))
    }),
}
const head = (path: string, more = '', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: ${new URL(services.url()).host}\r\nAuthorization: Bearer ${services.token}\r\n${more}\r\n`

describe('who may call', () => {
  it('a token of the account that deployed the service, and passes the caller to the service', async () => {
    const { status, text } = await services.call(`${base}/x?y=1`)
    const { path, headers } = JSON.parse(text)
    expect({ status, path }).toEqual({ status: 200, path: '/x?y=1' })
    expect(headers).toMatchObject({
      'x-selvedge-account': services.developer.accountId,
      'x-selvedge-client': services.developer.clientId,
      'x-forwarded-prefix': base,
    })
    expect(headers.forwarded).toMatch(/^for=127\.0\.0\.1;host="127\.0\.0\.1:\d+";proto=http$/)
    expect(headers['x-selvedge-scope']).toContain('edge:mcm')
  })

  it('the token itself stays here, unless the service asked for it', async () => {
    expect(JSON.parse((await services.call(`${base}/`)).text).headers).not.toHaveProperty('authorization')
    const own = await services.call(`/${services.developer.clientId}/own/`)
    expect(JSON.parse(own.text).headers.authorization).toBe(`Bearer ${services.token}`)
  })

  it('no caller without a token, and the answer says how to get one', async () => {
    const { status, text, headers } = await services.call(`${base}/`, { token: null })
    expect({ status, reason: reasonOf(text) }).toEqual({ status: 401, reason: 'token_missing' })
    expect(headers['www-authenticate']).toBe('Bearer')
  })

  it.each([
    ['a cookie', { Cookie: 'token=TOKEN; Authorization=Bearer TOKEN' }],
    ['the query', {}, '?access_token=TOKEN'],
    ['basic authentication', { Authorization: 'Basic TOKEN' }],
    ['another header', { 'X-Authorization': 'Bearer TOKEN' }],
  ])('no caller with a token in %s', async (_, headers, query = '') => {
    const fill = (text: string) => text.replaceAll('TOKEN', services.token)
    const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]))
    expect((await services.call(`${base}/${fill(query)}`, { token: null, headers: filled })).status).toBe(401)
  })

  it('no caller with a broken, truncated or foreign token', async () => {
    for (const token of [
      'x',
      services.token.slice(0, -4),
      `${services.token}x`,
      services.token.replace('.', '..'),
    ]) {
      expect((await services.call(`${base}/`, { token })).status).toBe(401)
    }
  })

  it('no other account', async () => {
    const stranger = await createDeveloper(services.stack.state)
    const { status, text } = await services.call(`${base}/`, {
      token: await accessToken(services.stack, stranger),
    })
    expect({ status, reason: reasonOf(text) }).toEqual({ status: 403, reason: 'wrong_account' })
  })

  it('another project of the account, unless the service is for its own only', async () => {
    const { stack, developer } = services
    const project = await createProject(stack.state, developer.email)
    const token = await accessToken(stack, { ...developer, ...project })
    expect((await services.call(`${base}/`, { token })).status).toBe(200)
    const { status, text } = await services.call(`/${developer.clientId}/own/`, { token })
    expect({ status, reason: reasonOf(text) }).toEqual({ status: 403, reason: 'insufficient_scope' })
  })

  it('every caller, if the service is public; then no header names the caller, whatever the caller sends', async () => {
    const headers = {
      'X-Selvedge-Account': 'admin',
      'X-Selvedge-Container': 'x',
      'X-Forwarded-Prefix': '/y',
      Forwarded: 'for=9.9.9.9',
    }
    const { status, text } = await services.call(`/${services.developer.clientId}/open/`, {
      token: null,
      headers,
    })
    const seen = JSON.parse(text).headers
    expect(status).toBe(200)
    expect(seen).not.toHaveProperty('x-selvedge-account')
    expect(seen).not.toHaveProperty('x-selvedge-container')
    expect(seen['x-forwarded-prefix']).toBe(`/${services.developer.clientId}/open`)
    expect(seen.forwarded).not.toContain('9.9.9.9')
  })

  it('no page of another site, not even a public service', async () => {
    const path = `/${services.developer.clientId}/open/`
    expect(
      (await services.call(path, { token: null, headers: { Origin: 'https://evil.example' } })).status,
    ).toBe(403)
    expect((await services.call(path, { token: null, headers: { Host: 'evil.example' } })).status).toBe(403)
    expect(
      (await services.call(path, { token: null, headers: { 'Sec-Fetch-Site': 'cross-site' } })).status,
    ).toBe(403)
  })
})

describe('where a path leads', () => {
  it('to the service with the longest prefix', async () => {
    expect((await services.call(`${base}/deeper/x`)).text).toBe('deeper')
    expect(JSON.parse((await services.call(`${base}/deep`)).text).path).toBe('/deep')
    expect(JSON.parse((await services.call(base)).text).path).toBe('/')
  })

  it('to the service by its alias', async () => {
    expect(JSON.parse((await services.call('/api/echo/v1/x')).text).path).toBe('/x')
  })

  it('nowhere: 404 with what to do', async () => {
    const { status, text } = await services.call('/nobody/here')
    expect({ status, reason: reasonOf(text) }).toEqual({ status: 404, reason: 'not_found' })
  })

  it.each([
    ['/../x', '/x', 404],
    ['/a/../../../echo/v1/b', '/b', 200],
    ['/a/../b', '/b', 200],
    ['/a/./b', '/a/b', 200],
    ['/a/%2e%2e/b', '/b', 200],
    ['/%2e%2e/%2e%2e/jsonrpc/v1', 'left', 404],
    ['/a%2fb', '/a%2fb', 200],
    ['/..%2f..%2fx', 'refused', 400],
    ['/a%2f..%2f..%2fx', 'refused', 400],
    ['/..%5cx', 'refused', 400],
    ['/a\\..\\x', 'refused', 400],
    ['/%00', 'refused', 400],
    ['/%zz', 'refused', 400],
  ])('%s: %s', async (path, expected, status) => {
    const text = await raw(head(base + path, 'Connection: close\r\n'))
    expect(Number(text.split(' ')[1]), text.slice(0, 300)).toBe(status)
    if (status === 200) expect(text).toContain(`"path":"${expected}"`)
  })
})

describe('what passes', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s', async (method) => {
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? 'hello' : ''
    const answer = await services.call(`${base}/m`, { method, ...(body && { body }) })
    expect(JSON.parse(answer.text)).toMatchObject({ method, body })
  })

  it('HEAD without a body, with the length it would have', async () => {
    const { status, text, headers } = await services.call(`${base}/m`, { method: 'HEAD' })
    expect({ status, text }).toEqual({ status: 200, text: '' })
    expect(headers).toHaveProperty('content-type')
  })

  it.each([204, 304, 404, 418, 500])('status %s', async (status) => {
    expect((await services.call(`${base}/status?${status}`)).status).toBe(status)
  })

  it('redirects, unfollowed', async () => {
    const { status, headers } = await services.call(`${base}/redirect`)
    expect({ status, location: headers.location }).toEqual({ status: 302, location: 'http://example.com/' })
  })

  it('nothing that is meant for one connection, either way', async () => {
    const { headers } = await services.call(`${base}/hop`)
    for (const name of ['x-private', 'keep-alive', 'proxy-authenticate'])
      expect(headers).not.toHaveProperty(name)
    const text = await raw(
      head(
        `${base}/`,
        'Connection: close, X-Secret\r\nX-Secret: 1\r\nTE: trailers\r\nProxy-Authorization: x\r\nUpgrade: h2c\r\n',
      ),
    )
    for (const name of ['x-secret', '"te"', 'proxy-authorization', '"upgrade"'])
      expect(text).not.toContain(name)
  })

  it('pages apart from the runtime’s own origin, unless they are trusted', async () => {
    expect((await services.call(`${base}/`)).headers['content-security-policy']).toMatch(/^sandbox/)
    const open = await services.call(`/${services.developer.clientId}/open/`)
    expect(open.headers).not.toHaveProperty('content-security-policy')
  })

  it('a chunked body, and one that waits for 100 Continue', async () => {
    const chunked = await raw(
      `${head(`${base}/sink`, 'Transfer-Encoding: chunked\r\nConnection: close\r\n', 'POST')}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`,
    )
    expect(chunked).toMatch(/200 OK[\s\S]*\r\n11/)
    const waiting = await raw(
      `${head(`${base}/sink`, 'Content-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n', 'POST')}abc`,
    )
    expect(waiting).toMatch(/^HTTP\/1\.1 100 Continue[\s\S]*200 OK[\s\S]*\r\n3/)
  })

  it('server-sent events, each when it is sent', async () => {
    const times: number[] = []
    await new Promise<void>((resolve) => {
      httpRequest(
        `${services.url()}${base}/events`,
        { headers: { Authorization: `Bearer ${services.token}` } },
        (response) => {
          response.on('data', () => times.push(performance.now()))
          response.on('end', resolve)
        },
      ).end()
    })
    expect(times.length).toBe(3)
    expect(times[2]! - times[0]!).toBeGreaterThan(400)
  })

  it('1 GiB up and 1 GiB down with flat memory', async () => {
    // Without the limit of 30 s until an answer begins: a busy machine needs longer for the upload.
    const unhurried = { 'MCM.MAX_EXECUTION_TIME_SEC': '600' }
    const { basePath } = await services.deploy('unhurried', echo, unhurried)
    const size = 1024 ** 3
    const status = `/proc/${services.stack.runtime.process.pid}/status`
    const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))![1])
    const before = peak()
    const headers = { Authorization: `Bearer ${services.token}` }
    const up = httpRequest(`${services.url()}${basePath}/sink`, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': size },
    })
    const chunk = Buffer.alloc(1024 * 1024)
    const body = Readable.from(Array(size / chunk.length).fill(chunk))
    const [[answer]] = await Promise.all([once(up, 'response'), pipeline(body, up)])
    expect(await text(answer as IncomingMessage)).toBe(String(size))
    const down = httpRequest(`${services.url()}${basePath}/source?${size}`, { headers }).end()
    const [source] = (await once(down, 'response')) as [IncomingMessage]
    let received = 0
    for await (const part of source) received += (part as Buffer).length
    expect(received).toBe(size)
    const after = peak()
    console.info(`1 GiB each way: memory of the runtime ${before} kB at most before, and ${after} kB after`)
    expect(after - before).toBeLessThan(200_000)
  })

  it('a WebSocket, both ways, for who may call', async () => {
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const frame = '\x81\x85\x00\x00\x00\x00hello'
    const text = await raw(head(`${base}/ws`, upgrade) + frame)
    expect(text).toMatch(/^HTTP\/1\.1 101 [\s\S]*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i)
    expect(text).toContain('\x05hello')
    const host = new URL(services.url()).host
    const without = await raw(`GET ${base}/ws HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n`)
    expect(without).toMatch(/^HTTP\/1\.1 401 /)
    const foreign = await raw(head(`${base}/ws`, `${upgrade}Origin: https://evil.example\r\n`))
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('no second request behind an upgrade that the service refused', async () => {
    const text = await raw(
      `${head(`${base}/status?404`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n')}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(text).toMatch(/^HTTP\/1\.1 404[\s\S]*Connection: close/i)
  })
})

describe('requests that two readers would read differently', () => {
  it.each([
    ['length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\nX'],
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n', 'hello!'],
    ['a length that is no number', 'Content-Length: +5\r\n', 'hello'],
    ['chunked twice', 'Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'],
    ['chunked not last', 'Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n', '0\r\n\r\n'],
    ['a folded header', 'X: a\r\n Transfer-Encoding: chunked\r\n', ''],
    ['a bare line feed', 'X: a\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['a chunk size that is none', 'Transfer-Encoding: chunked\r\n', '5;\nhello\r\n0\r\n\r\n'],
    ['two hosts', 'Host: evil.example\r\n', ''],
    ['two tokens', 'Authorization: Bearer x\r\n', ''],
  ])('are refused: %s', async (_, more, body) => {
    const text = await raw(head(`${base}/sink`, more, 'POST') + body)
    expect(text.match(/HTTP\/1\.1 (\d+)/)?.[1]).toBe('400')
  })

  it.each(['HTTP/0.9', 'HTTP/2.0'])('are refused: %s', async (version) => {
    const text = await raw(
      `GET ${base}/ ${version}\r\nHost: ${new URL(services.url()).host}\r\nAuthorization: Bearer ${services.token}\r\n\r\n`,
    )
    expect(text).not.toContain(' 200 ')
  })

  it('absolute targets name the host that is checked, whatever the Host is', async () => {
    const { host } = new URL(services.url())
    expect(await raw(head(`http://${host}${base}/`))).toMatch(/^HTTP\/1\.1 200/)
    for (const other of ['127.0.0.1', '127.0.0.1:1', 'evil.example', `evil.example:${host.split(':')[1]}`])
      expect(await raw(head(`http://${other}${base}/`)), other).toMatch(/^HTTP\/1\.1 403/)
  })
})

describe('time', () => {
  it('a service that takes too long is answered for; others go on', async () => {
    const slow = await services.deploy('slow', echo, { 'MCM.MAX_EXECUTION_TIME_SEC': '0.5' })
    const { status, text } = await services.call(`${slow.basePath}/slow`)
    expect({ status, reason: reasonOf(text) }).toEqual({ status: 504, reason: 'timeout' })
    expect((await services.call(`${slow.basePath}/x`)).status).toBe(200)
    const { history } = await services
      .runtime()
      .getContainerHistory({ edgeAccessToken: services.token, id: slow.id })
    expect(history.map(({ event }) => event)).toEqual(['deployed'])
  })

  it('one that spins is stopped, and started again for the next request', async () => {
    const spin = await services.deploy('spin', echo, { 'MCM.MAX_EXECUTION_TIME_SEC': '0.5' })
    expect((await services.call(`${spin.basePath}/spin`)).status).toBe(504)
    await expect.poll(async () => (await services.call(`${spin.basePath}/x`)).status).toBe(200)
    const { history } = await services
      .runtime()
      .getContainerHistory({ edgeAccessToken: services.token, id: spin.id })
    expect(history.at(-1)).toMatchObject({ event: 'restarted', by: null })
  })
})
