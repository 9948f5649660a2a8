/** The socket of an instance, with requests as an OCI container sends them. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPaths, RpcError } from '@selvedge/protocol'
import { caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import { openHostSocket } from './host-socket.ts'
import { createInstanceLimit, instanceRate, maxUnderWay } from './instance-limit.ts'

let folder: string
let path: string
let socket: { close(): Promise<void> }
/** What reached the API or the gateway. */
let passed: string[]
let outbound: string[]
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-host-'))
  path = join(folder, 'host')
  passed = []
  outbound = []
  now = 0
  socket = await open(path)
})
afterEach(async () => {
  await socket.close()
  rmSync(folder, { recursive: true })
})

const open = (at: string) =>
  openHostSocket(at, {
    identityToken: (audience) => ({ token: `for ${audience}`, expiresAt: '' }),
    outbound,
    network: directNetwork,
    api: {
      owns: (asked) => asked.startsWith('/api/'),
      openNodes: async (body) => {
        if (body === 'refused') throw new RpcError('invalid_params', 'not sealed')
        if (body === 'fails') throw new Error('a secret')
        return { opened: body }
      },
      request: (asked, response) => {
        passed.push(`api ${asked.url} ${asked.headers.host}`)
        response.end()
      },
    },
    gateway: {
      handle: (asked, response) => {
        passed.push(`gateway ${asked.url} ${asked.rawHeaders[asked.rawHeaders.indexOf('Host') + 1]}`)
        response.end()
      },
      handleUpgrade: (_, upgraded) => {
        passed.push('upgrade')
        upgraded.destroy()
      },
      close: () => undefined,
    },
    limit: createInstanceLimit(() => now),
    isOwnUrl: ({ hostname }) => hostname === 'own.example',
  })

/** All failures that were reported from now on, until the test ends. */
function watchFailures(): unknown[] {
  const failures: unknown[] = []
  const note = (message: unknown) => failures.push(message)
  caughtFailures.subscribe(note)
  onTestFinished(() => void caughtFailures.unsubscribe(note))
  return failures
}

interface Asked {
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

async function ask({ path: asked = '/', method = 'GET', headers = {}, body }: Asked) {
  const sent = request({
    socketPath: path,
    path: asked,
    method,
    headers: { Host: 'runtime', ...headers },
    agent: false,
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  const { 'x-selvedge-refused': refused, allow } = response.headers
  return { status: response.statusCode as number, refused, allow, text }
}

describe('identity tokens', () => {
  const identify = (body: string, headers = {}, at: string = hostPaths.identityToken) =>
    ask({ path: at, method: 'POST', headers, body })

  it('are issued to requests on the socket', async () => {
    expect(JSON.parse((await identify('{"audience":"x"}')).text)).toMatchObject({ token: 'for x' })
  })

  it.each(['null', '[]', '"text"', '1', '{"audience":1}', '{', '', `"${'x'.repeat(30_000)}"`])(
    'are refused for %s',
    async (body) => {
      const { status, text } = await identify(body)
      expect([status, JSON.parse(text).error]).toMatchObject([
        ...[400, { reason: 'invalid_params', message: 'send { "audience": "<id of a container>" }' }],
      ])
    },
  )

  it('are not issued to requests that name a URL', async () => {
    const target = { 'X-Selvedge-Target': `http://own.example${hostPaths.identityToken}` }
    for (const at of ['/', hostPaths.identityToken])
      expect((await identify('{"audience":"x"}', target, at)).text).toBe('')
    expect(passed).toEqual(Array(2).fill(`gateway ${hostPaths.identityToken} own.example`))
  })

  it('are issued to requests with a Host that is no address', async () => {
    expect(JSON.parse((await identify('{"audience":"x"}', { Host: 'a b' })).text)).toMatchObject({
      token: 'for x',
    })
  })

  it('are not issued to requests for the address of the local API, which a container may forward to its socket', async () => {
    for (const at of Object.values(hostPaths))
      expect((await identify('{"audience":"x"}', { Host: 'own.example' }, at)).text).toBe('')
    expect(passed).toEqual(Object.values(hostPaths).map((at) => `gateway ${at} own.example`))
  })
})

describe('sealed lists of nodes', () => {
  const { openNodes } = hostPaths
  const unseal = (body: string, headers = {}, at: string = openNodes) =>
    ask({ path: at, method: 'POST', headers, body })

  it('are opened for requests on the socket, also as a proxy gets them', async () => {
    for (const at of [openNodes, `http://runtime.invalid${openNodes}`])
      expect(JSON.parse((await unseal('{"sealed":1}', {}, at)).text)).toEqual({ opened: { sealed: 1 } })
    const { status, allow, text } = await ask({ path: openNodes })
    expect([status, allow, JSON.parse(text).error]).toMatchObject([
      ...[405, 'POST', { reason: 'method_not_allowed', message: 'send POST' }],
    ])
  })

  it('are refused as the API refuses them, and a failure shows nothing of its cause', async () => {
    const { status, text } = await unseal('"refused"')
    expect([status, JSON.parse(text).error]).toMatchObject([400, { message: 'not sealed' }])
    const failures = watchFailures()
    expect(await unseal('"fails"')).toMatchObject({ status: 500, text: '' })
    expect(failures).toMatchObject([{ cause: { message: 'a secret' } }])
  })

  it('are not opened for requests that name a URL, and so for no redirect', async () => {
    const target = { 'X-Selvedge-Target': `http://own.example${openNodes}` }
    for (const at of ['/', openNodes, `http://runtime.invalid${openNodes}`])
      expect((await unseal('{}', target, at)).text).toBe('')
    expect((await unseal('{}', { ...target, 'X-Selvedge-Redirected': 'cross-origin' })).status).toBe(403)
    expect(passed).toEqual(Array(3).fill(`gateway ${openNodes} own.example`))
  })

  it('come without a body that is longer than a token and a sealed value', async () => {
    const unsealed = async (characters: number) =>
      JSON.parse((await unseal(JSON.stringify('x'.repeat(characters - 2)))).text).opened?.length
    expect([await unsealed(24_576), await unsealed(24_577)]).toEqual([24_574, undefined])
  })
})

describe('a request that names its URL', () => {
  const target = (url: string, more = {}) => ask({ headers: { 'X-Selvedge-Target': url, ...more } })

  it('is for the host of that URL', async () => {
    await target('http://own.example:8083/api/x?y=1#z')
    await target('http://own.example/service')
    expect(passed).toEqual(['api /api/x?y=1 own.example:8083', 'gateway /service own.example'])
  })

  it('leads to the outside only if that is listed', async () => {
    for (const url of ['http://other.example/api/x', 'nonsense', '', 'http://own.example.other.example/'])
      expect((await target(url)).status).toBe(403)
    expect(passed).toEqual([])
  })

  it.each([
    ['http://own.example/api/x', 'cross-origin', false],
    ['http://own.example/service', 'cross-origin', false],
    ['http://own.example/api/x', 'same-origin', false],
    ['http://own.example/service', 'same-origin', true],
    ['http://own.example/service', 'anything else', false],
  ])('%s, by a redirect of the kind %s: let through is %s', async (url, kind, isLetThrough) => {
    const { status, refused } = await target(url, { 'X-Selvedge-Redirected': kind })
    expect(status).toBe(isLetThrough ? 200 : 403)
    expect(refused).toEqual(isLetThrough ? undefined : expect.stringContaining(`not lead to ${url}, which`))
    expect(passed).toHaveLength(isLetThrough ? 1 : 0)
  })
})

it('a redirect without a URL is refused, too', async () => {
  const { refused } = await ask({ path: '/api/x', headers: { 'X-Selvedge-Redirected': 'same-origin' } })
  expect(refused).toContain('not lead to /api/x, which')
})

it('leads to hosts that are listed, by requests and by tunnels, which end with it', async () => {
  const server = createServer((_, response) => response.end('outside'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  outbound.push(host)
  expect((await ask({ headers: { 'X-Selvedge-Target': `http://${host}/` } })).text).toBe('outside')
  const sent = connect(path)
  sent.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const [answer] = await once(sent.setEncoding('utf8'), 'data')
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  await Promise.all([socket.close(), once(sent, 'close')])
})

it('replaces the socket that an earlier run has left', async () => {
  const left = join(folder, 'left')
  writeFileSync(left, '')
  await (await open(left)).close()
})

it('closes connections that wait for their client, beyond 128', async () => {
  const ends: string[] = []
  const begin = async () => {
    const sent = connect(path).on('error', () => undefined)
    sent.setEncoding('utf8').once('data', () => ends.push('answered'))
    sent.once('close', () => ends.push('closed'))
    await once(sent, 'connect')
    return sent
  }
  const first = await begin()
  for (let at = 1; at < 128; at++) await begin()
  const last = await begin()
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
  last.write(get)
  await expect.poll(() => ends).toContain('answered')
  first.write(get)
  await expect.poll(() => ends.length).toBeGreaterThan(1)
  expect(ends).toContain('closed')
})

it('a request that breaks off within its body is no failure of the runtime', async () => {
  const failures = watchFailures()
  const sent = connect(path)
  sent.write(`POST ${hostPaths.identityToken} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{`)
  await once(sent, 'connect')
  await manyTurns()
  sent.destroy()
  await manyTurns()
  expect([failures, passed]).toEqual([[], []])
})

it('refuses a header twice that decides what is asked', async () => {
  const sent = connect(path)
  sent.end('GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n')
  const [answer] = await once(sent.setEncoding('utf8'), 'data')
  expect(answer).toMatch(
    /^HTTP\/1\.1 400 .*a header that decides .* came twice; send it once.*"repeated_header"/s,
  )
  expect(passed).toEqual([])
})

it('ends with all its connections', async () => {
  const idle = connect(path)
  await once(idle, 'connect')
  await Promise.all([socket.close(), once(idle, 'close')])
})

it('opens no connection to this device, nor to a host that is not listed', async () => {
  for (const [target, why] of [
    ['127.0.0.1:8083', 'not listed in MCM.OUTBOUND'],
    ['own.example:80', 'not listed in MCM.OUTBOUND'],
  ]) {
    const sent = connect(path)
    sent.write(`CONNECT ${target} HTTP/1.1\r\nHost: own.example\r\n\r\n`)
    const [answer] = await once(sent.setEncoding('utf8'), 'data')
    expect(answer).toContain(why)
    sent.destroy()
  }
  expect(passed).toEqual([])
})

it('counts a WebSocket until it ends', async () => {
  for (let at = 0; at <= maxUnderWay; at++) {
    const sent = connect(path).resume()
    sent.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    await once(sent, 'close')
  }
  expect(passed).toEqual(Array(maxUnderWay + 1).fill('upgrade'))
})

describe('beyond the limit of the instance', () => {
  const exhaust = async () => {
    for (let left = instanceRate.burst; left > 0; left -= 50)
      await Promise.all(Array.from({ length: Math.min(50, left) }, () => ask({ path: '/service' })))
    passed = []
  }

  it('every path of the device is refused, and answered again when time has passed', async () => {
    await exhaust()
    const asked: Asked[] = [
      { path: '/service' },
      { path: '/api/x' },
      { path: hostPaths.identityToken, method: 'POST', body: '{"audience":"x"}' },
      { headers: { 'X-Selvedge-Target': 'http://own.example/api/x' } },
      { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } },
    ]
    for (const { status, text } of await Promise.all(asked.map(ask)))
      expect([status, JSON.parse(text).error]).toMatchObject([
        ...[503, { reason: 'busy', message: expect.stringContaining('calls this device more than') }],
      ])
    expect(passed).toEqual([])
    now += 1000
    expect((await ask({ path: '/api/x' })).status).toBe(200)
  })

  it('calls to the outside do not count', async () => {
    await exhaust()
    expect((await ask({ headers: { 'X-Selvedge-Target': 'http://other.example/' } })).status).toBe(403)
  })

  it('callers that go away before the refusal leave nothing behind', async () => {
    await exhaust()
    const sent = connect(path)
    sent.write('GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(sent, 'connect')
    sent.destroy()
    expect((await ask({ path: '/api/x' })).status).toBe(503)
  })
})
