/** Requests through proxies that are reached by HTTP and TLS, to servers with certificates of own authorities. */
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, request as httpRequest, type Server } from 'node:http'
import { createServer as createTlsServer, request as httpsRequest } from 'node:https'
import {
  type AddressInfo,
  createServer as createSilentServer,
  type LookupFunction,
  type Socket,
} from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Issued, makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import {
  type ConnectProxy,
  type ConnectProxyOptions,
  startConnectProxy,
} from '../../../../../tests/harness/connect-proxy.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { createNodeFetch } from '../node-fetch.ts'
import { openAuthorities } from './authorities.ts'
import { createNetwork, type Network } from './network.ts'
import type { Use } from './openers.ts'

let folder: string
let company: TestAuthority
let other: TestAuthority
let own: Issued
const servers: { close(): void }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'network-'))
})
afterAll(() => rmSync(folder, { recursive: true }))
const at = (name: string) => join(folder, name)

/** @returns its port */
async function serve(tls?: Issued): Promise<number> {
  const server: Server = tls ? createTlsServer(tls) : createHttpServer()
  server.on('request', (_, response) => response.end('hello'))
  servers.push({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function proxyTo(
  port: number | undefined,
  more: Partial<ConnectProxyOptions> = {},
): Promise<ConnectProxy> {
  const proxy = await startConnectProxy({ portOf: () => port, ...more })
  servers.push(proxy)
  return proxy
}

/** Body of the answer. @param more options of the request, such as `lookup`, which judges the name */
function get(
  network: Network,
  url: string,
  { use = 'service', ...more }: { use?: Use; lookup?: LookupFunction; rejectUnauthorized?: boolean } = {},
) {
  return new Promise<string>((resolve, reject) => {
    const start = url.startsWith('https:') ? httpsRequest : httpRequest
    const agent = network.agentFor(url, use) ?? false
    start(url, { agent, ...more }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      resolve(Buffer.concat(chunks).toString())
    })
      .on('error', reject)
      .end()
  })
}

const url = 'https://service.example'
/** A name that leads to this machine, as a lookup of a request may allow it. */
const here: LookupFunction = (_, options, callback) =>
  options.all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4)

it('connections that wait for the next request are not probed each second', () => {
  const network = createNetwork({ env: {} })
  for (const url of ['https://a.example', 'http://a.example'])
    expect(network.agentFor(url, 'service')).toMatchObject({ keepAlive: true, keepAliveMsecs: 60_000 })
})

describe('after an outage', () => {
  /** Requests on connections that are open, and on ones that are being opened, to a server without an answer. */
  async function wait(network: Network, use: Use) {
    const silent = createSilentServer((socket) => void socket.on('error', () => undefined).resume())
    servers.push(silent)
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const accepted = once(silent, 'connection')
    const { port } = silent.address() as AddressInfo
    const outcomes: string[] = []
    const note = (name: string, request: Promise<unknown>) =>
      request.catch((cause: Error) => void outcomes.push(`${name} ${(cause as { code?: string }).code}`))
    const asked = Promise.withResolvers<void>()
    const unresolved: LookupFunction = () => asked.resolve()
    const all = [
      note('open', get(network, `http://a.example:${port}`, { use, lookup: here })),
      note('opening', get(network, 'http://b.example', { use, lookup: unresolved })),
    ]
    const [socket] = (await accepted) as [Socket]
    await once(socket, 'data')
    await asked.promise
    return { outcomes, socket, settled: () => Promise.all(all) }
  }

  it('requests to services fail that wait on connections from before, and the next ones have others', async () => {
    const network = createNetwork({ env: {} })
    const { outcomes, settled } = await wait(network, 'service')
    network.renew('all')
    await settled()
    expect(outcomes.sort()).toEqual(['open ECONNRESET', 'opening ECONNRESET'])
    expect(await get(network, `http://a.example:${await serve()}`, { lookup: here })).toBe('hello')
  })

  it('those of another purpose, and those to servers of other users, continue', async () => {
    const network = createNetwork({ env: {} })
    const of = await wait(network.for('images'), 'service')
    const foreign = await wait(network, 'foreign')
    network.renew('all')
    network.for('other purpose').renew('all')
    for (const { socket } of [of, foreign]) {
      expect(socket.readyState).toBe('open')
      const closed = once(socket, 'close')
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      await closed
    }
    expect([of.outcomes, foreign.outcomes]).toEqual([[], []])
    network.for('images').renew('all')
  })
})

it('requests fail that wait on a connection that was reused, and not those on new ones', async () => {
  let answers = 1
  const server = createHttpServer((_, response) => {
    if (answers-- > 0) response.end('hello')
  })
  servers.push({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://a.example:${(server.address() as AddressInfo).port}`
  const network = createNetwork({ env: {} })
  expect(await get(network, url, { lookup: here })).toBe('hello')
  const ask = async () => {
    const asked = once(server, 'request')
    const answer = get(network, url, { lookup: here }).catch((cause) => cause.code)
    await asked
    return { answer }
  }
  const [reused, fresh] = [await ask(), await ask()]
  network.renew('reused')
  expect(await reused.answer).toBe('ECONNRESET')
  network.renew('reused')
  network.renew('all')
  expect(await fresh.answer).toBe('ECONNRESET')
})

describe('without TLS', () => {
  it('a request is sent through the proxy, and to this machine never', async () => {
    const port = await serve()
    const proxy = await proxyTo(port)
    const network = createNetwork({ proxy: proxy.url, env: {} })
    expect(await get(network, 'http://service.example:8080/path')).toBe('hello')
    expect(await get(network, `http://127.0.0.1:${port}`)).toBe('hello')
    expect(proxy.opened).toEqual(['service.example:8080'])
  })

  it('the environment decides where no option does', async () => {
    const proxy = await proxyTo(await serve())
    const network = createNetwork({ env: { http_proxy: proxy.url, NO_PROXY: 'other.example' } })
    expect(await get(network, 'http://service.example')).toBe('hello')
    expect(network.isProxied('http://other.example')).toBe(false)
  })

  it('the password comes from a file, which is read for each connection', async () => {
    const proxy = await proxyTo(await serve(), { credentials: 'me:new password' })
    const network = createNetwork({ proxy: proxy.url, proxyAuthFile: at('auth'), env: {} })
    writeFileSync(at('auth'), 'me:old\n')
    await expect(get(network, 'http://service.example')).rejects.toMatchObject({
      reason: 'proxy_credentials',
    })
    expect(network.status()).toEqual({ proxy: proxy.url, problem: expect.stringContaining('(HTTP 407)') })
    writeFileSync(at('auth'), 'me:new password\n')
    expect(await get(network, 'http://service.example')).toBe('hello')
    expect(network.status()).toEqual({ proxy: proxy.url, problem: undefined })
  })

  it.each([
    ['is empty', '', 'expected one line such as user:password'],
    ['has no colon', 'no colon', 'expected one line'],
    ['has two lines', 'a:b\nc:d', 'expected one line'],
    ['has a header', 'a:b\r\nX: y', 'expected one line'],
    ['is long', `a:${'b'.repeat(4095)}`, "can't be read: it has more than 4096 bytes"],
    ['is missing', undefined, "can't be read: ENOENT"],
    ['is endless', '/dev/zero', "can't be read: it is no regular file"],
  ])('a file with the password that %s is an error', async (_, text, message) => {
    const file = text?.startsWith('/') ? text : at(text === undefined ? 'missing' : 'auth')
    if (text && file !== text) writeFileSync(file, text)
    if (text === '') writeFileSync(file, text)
    const proxy = await proxyTo(await serve())
    const network = createNetwork({ proxy: proxy.url, proxyAuthFile: file, env: {} })
    await expect(get(network, 'http://service.example')).rejects.toThrow(message)
    expect(network.status().problem).toContain(message)
    expect(proxy.requested).toEqual([])
  })

  it('a name that leads to refused addresses is not handed to the proxy, one that cannot be resolved is', async () => {
    const proxy = await proxyTo(await serve())
    const network = createNetwork({ proxy: proxy.url, env: {} })
    const failing =
      (cause: Error): LookupFunction =>
      (_name, _options, callback) =>
        callback(cause, '', 0)
    const refused = failing(new Error('it is private'))
    await expect(get(network, 'http://service.example', { lookup: refused })).rejects.toThrow('it is private')
    expect(proxy.requested).toEqual([])
    const unknown = failing(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
    expect(await get(network, 'http://service.example', { lookup: unknown })).toBe('hello')
    expect(await get(network, 'http://service.example', { lookup: here })).toBe('hello')
  })

  it('a server that another user named is never shown in the status, unless the proxy itself fails', async () => {
    const proxy = await proxyTo(undefined)
    const network = createNetwork({ proxy: proxy.url, env: {} })
    await expect(get(network, 'http://a.example', { use: 'foreign' })).rejects.toMatchObject({
      reason: 'proxy_refused',
    })
    expect(network.status().problem).toBeUndefined()
    proxy.close()
    await expect(get(network, 'http://a.example', { use: 'foreign' })).rejects.toThrow(proxy.url)
    expect(network.status().problem).toContain(proxy.url)
  })
})

it('a host that does not answer the proxy is shown if it is a service, and not if another user named it', async () => {
  const asked = createSilentServer((socket) => void socket.on('error', () => undefined))
  servers.push(asked)
  asked.listen(0, '127.0.0.1')
  await once(asked, 'listening')
  const network = createNetwork({
    proxy: `http://127.0.0.1:${(asked.address() as AddressInfo).port}`,
    env: {},
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    for (const use of ['foreign', 'service'] as const) {
      const failed = get(network, 'http://a.example', { use })
      const [socket] = (await once(asked, 'connection')) as [Socket]
      await once(socket, 'data')
      vi.advanceTimersByTime(15_000)
      await expect(failed).rejects.toMatchObject({ reason: 'proxy_timeout' })
      expect(network.status().problem?.includes('did not connect to a.example:80') ?? false).toBe(
        use === 'service',
      )
      socket.destroy()
    }
  } finally {
    vi.useRealTimers()
  }
})

describe('with TLS', needs('openssl'), () => {
  beforeAll(() => {
    company = makeAuthority(folder, 'Example Corp CA')
    other = makeAuthority(folder, 'other CA')
    own = company.issue('service.example')
  })

  it('a request is sent through the proxy, with a certificate of the file of authorities', async () => {
    const proxy = await proxyTo(await serve(own))
    const network = createNetwork({ proxy: proxy.url, caFile: company.path, env: {} })
    expect(await get(network, url)).toBe('hello')
    const answer = await createNodeFetch({ network })(`${url}/a`, {
      ...{ method: 'GET', headers: {}, redirect: 'error', signal: AbortSignal.timeout(10_000) },
    })
    expect(await answer.text()).toBe('hello')
    expect(proxy.opened).toEqual(['service.example:443', 'service.example:443'])
  })

  it('the proxy itself may be reached by TLS', async () => {
    const tls = company.issue('localhost')
    const proxy = await proxyTo(await serve(own), { tls })
    const network = createNetwork({ proxy: proxy.url, caFile: company.path, env: {} })
    expect(await get(network, url)).toBe('hello')
    const untrusting = createNetwork({ proxy: proxy.url, env: {} })
    await expect(get(untrusting, url)).rejects.toThrow(
      'the certificate of localhost is from an authority that is not trusted here',
    )
    expect(untrusting.status().problem).toContain('localhost')
  })

  it('a certificate of another authority is refused with its name, and the proxy that may have replaced it', async () => {
    const proxy = await proxyTo(await serve(own))
    const network = createNetwork({ proxy: proxy.url, caFile: other.path, env: {} })
    const failed = get(network, url)
    await expect(failed).rejects.toMatchObject({ reason: 'certificate_untrusted' })
    await expect(failed).rejects.toThrow('"Example Corp CA"')
    await expect(failed).rejects.toThrow(`The proxy ${proxy.url} may replace certificates`)
    expect(network.status().problem).toContain('Example Corp CA')
  })

  it('directly: a certificate is verified by name, time and chain, and the status shows why not', async () => {
    const network = createNetwork({ caFile: company.path, env: {} })
    const port = await serve(own)
    expect(await get(network, `${url}:${port}`, { lookup: here })).toBe('hello')
    const named = get(network, `https://other.example:${port}`, { lookup: here })
    await expect(named).rejects.toMatchObject({ reason: 'certificate_name' })
    await expect(named).rejects.toThrow('is for other names: DNS:service.example')
    expect(network.status().problem).toContain('DNS:service.example')
    const late = await serve(company.issue('late.example', -1))
    const expired = get(network, `https://late.example:${late}`, { lookup: here, use: 'foreign' })
    await expect(expired).rejects.toMatchObject({ reason: 'certificate_expired' })
    await expect(expired).rejects.toThrow(
      /the certificate of late.example expired at 20.*Z, and the clock here shows 20/,
    )
    expect(network.status().problem).not.toContain('late.example')
    const selfSigned = await serve(makeAuthority(folder, 'self').issue('x.example'))
    await expect(get(network, `https://x.example:${selfSigned}`, { lookup: here })).rejects.toThrow('"self"')
  })

  it('a request may accept any certificate of its server: not that of the proxy, and for no other request', async () => {
    const proxy = await proxyTo(await serve(own), { tls: company.issue('localhost') })
    const untrusting = createNetwork({ proxy: proxy.url, env: {} })
    const trusting = createNetwork({ proxy: proxy.url, caFile: company.path, env: {} })
    const direct = createNetwork({ env: {} })
    const at = `${url}:${await serve(makeAuthority(folder, 'unknown').issue('any.example'))}`
    const any = { rejectUnauthorized: false, lookup: here }
    await expect(get(untrusting, url, any)).rejects.toThrow('the certificate of localhost')
    expect(await get(trusting, url, any)).toBe('hello')
    for (let times = 0; times < 2; times++) {
      expect(await get(direct, at, any)).toBe('hello')
      await expect(get(direct, at, { lookup: here })).rejects.toMatchObject({
        reason: 'certificate_untrusted',
      })
    }
  })

  it('nothing is sent to a server with a certificate that is refused', async () => {
    let sent = 0
    const server = createTlsServer(own, () => void sent++)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const to = `${url}:${(server.address() as AddressInfo).port}`
    await expect(get(createNetwork({ env: {} }), to, { lookup: here })).rejects.toMatchObject({
      reason: 'certificate_untrusted',
    })
    expect(sent).toBe(0)
  })
})

describe('a file of authorities', needs('openssl'), () => {
  const open = (path: string) => openAuthorities({ path, checkMs: 0 })

  it('is read again when it is replaced, and one that cannot be used leaves those from before', () => {
    copyFileSync(company.path, at('used.pem'))
    const authorities = open(at('used.pem'))
    const first = authorities.context()
    expect(first).toBeDefined()
    expect(authorities.context()).toBe(first)
    writeFileSync(at('next.pem'), 'nothing')
    renameSync(at('next.pem'), at('used.pem'))
    expect(authorities.context()).toBe(first)
    expect(authorities.problem()).toContain("used.pem can't be used: it has no certificate in the PEM format")
    copyFileSync(other.path, at('next.pem'))
    renameSync(at('next.pem'), at('used.pem'))
    expect(authorities.context()).not.toBe(first)
    expect(authorities.problem()).toBeUndefined()
  })

  it.each([
    ['is missing', undefined, 'ENOENT'],
    ['is a folder', '', 'it is no regular file'],
    ['is large', 'x'.repeat(1024 * 1024 + 1), 'it has more than 1048576 bytes'],
    [
      'has a damaged certificate',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'its certificate 1 is damaged',
    ],
  ])('that %s is a problem with a sentence', (_, text, message) => {
    const path = text === '' ? folder : at(text === undefined ? 'missing.pem' : 'bad.pem')
    if (text) writeFileSync(path, text)
    const authorities = open(path)
    expect(authorities.context()).toBeUndefined()
    expect(authorities.problem()).toContain(message)
  })

  it('with an expired authority names it, by the present time: also long after the file was read', () => {
    const { path } = makeAuthority(folder, 'old CA')
    let time = Date.now()
    const authorities = openAuthorities({ path, now: () => time })
    expect(authorities.problem()).toBeUndefined()
    time += 60 * 86_400_000
    expect(authorities.problem()).toMatch(/the authority CN=old CA expired at .* GMT: replace it/)
    time -= 60 * 86_400_000
    expect(authorities.problem()).toBeUndefined()
  })
})
