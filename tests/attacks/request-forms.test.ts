/**
 * Requests as other clients spell them, and what a page or a stranger could make of the same spellings: types of older clients, byte
 * order marks, targets that name a whole URL, a query or a slash after the path, and a proxy in front that leaves the port out.
 */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { formerSocketPath, healthPaths, rpcPath } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ runtime: ['--listen.hosts=device.example:443'] })
})
afterAll(() => stack?.stop())

const call = '{"jsonrpc":"2.0","id":1,"method":"getMe"}'
const json = { 'Content-Type': 'application/json' }
const hostOf = (url: string) => new URL(url).host

/** Sends the bytes of one request to a service. @returns its status and the text behind the headers */
async function send(
  target: string,
  {
    method = 'POST',
    headers = {},
    body = '',
    url = stack.runtime.url,
  }: { method?: string; headers?: Record<string, string>; body?: string | Buffer; url?: string } = {},
): Promise<{ status: number; body: string; head: string }> {
  const { hostname, port, host } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname })
  const lines = Object.entries({
    Host: host,
    Connection: 'close',
    ...(method === 'POST' && { 'Content-Length': Buffer.byteLength(body) }),
    ...headers,
  })
  socket.write(
    `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  )
  socket.write(body)
  // The answer to a WebSocket's request is followed by nothing.
  if (headers.Upgrade) socket.once('data', () => socket.end())
  const answer = await text(socket)
  const [head = ''] = answer.split('\r\n\r\n', 1)
  return { status: Number(head.split(' ')[1]), head, body: answer.slice(head.length + 4) }
}

const callAt = (target: string, headers: Record<string, string> = {}, body: string | Buffer = call) =>
  send(target, { headers: { ...json, ...headers }, body })
const resultOf = ({ body }: { body: string }) => JSON.parse(body).result as unknown

describe('a call', () => {
  it.each(['application/json-rpc', 'application/jsonrequest', 'Application/JSON-RPC; charset=UTF-8'])(
    'may have the type %s',
    async (type) => {
      expect(resultOf(await callAt(rpcPath, { 'Content-Type': type }))).toBeDefined()
    },
  )

  it.each(['application/json-rpc', 'application/jsonrequest'])(
    'of the type %s is refused to a page of another origin, its preflight too',
    async (type) => {
      const page = { Origin: 'https://evil.example', 'Content-Type': type }
      expect((await callAt(rpcPath, page)).status).toBe(403)
      const asked = {
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type',
      }
      const preflight = await send(rpcPath, { method: 'OPTIONS', headers: { Origin: page.Origin, ...asked } })
      expect(preflight.status).toBe(403)
      expect(preflight.head).not.toMatch(/access-control-allow/i)
    },
  )

  it.each([`${rpcPath}/`, `${rpcPath}?trace=1`, `${rpcPath}/?`, `${rpcPath}?/../../x`])(
    'may have the target %s',
    async (target) => {
      expect(resultOf(await callAt(target))).toBeDefined()
      expect((await callAt(target, { Origin: 'null' })).status).toBe(403)
      expect((await callAt(target, { Referer: `${stack.runtime.url}/some/service` })).status).toBe(403)
    },
  )

  it.each([`${rpcPath}//`, `/${rpcPath}`, `${rpcPath}x`, `${rpcPath};x`, `${rpcPath}/%2e`])(
    'is not at %s',
    async (target) => {
      expect((await callAt(target)).status).toBe(404)
    },
  )

  it.each([
    ['U+FEFF in UTF-8', Buffer.from(`\uFEFF${call}`), 'byte order mark'],
    ['UTF-16, little endian', Buffer.from(`\uFEFF${call}`, 'utf16le'), 'byte order mark of UTF-16'],
    ['UTF-16, big endian', Buffer.from(`\uFEFF${call}`, 'utf16le').swap16(), 'byte order mark of UTF-16'],
  ])('with a byte order mark is refused by that name: %s', async (_name, body, message) => {
    const { error } = JSON.parse((await callAt(rpcPath, {}, body)).body)
    expect(error.code).toBe(-32700)
    expect(JSON.stringify(error)).toContain(message)
  })
})

describe('a target that names a URL', () => {
  it('is that URL, whatever the Host is', async () => {
    const own = hostOf(stack.runtime.url)
    expect(resultOf(await callAt(`http://${own}${rpcPath}`))).toBeDefined()
    expect(resultOf(await callAt(`http://${own}${rpcPath}?x`, { Host: 'sent.example' }))).toBeDefined()
    expect((await callAt(`http://evil.example${rpcPath}`)).status).toBe(403)
    expect((await callAt(`http://evil.example${rpcPath}`, { Host: own })).status).toBe(403)
  })

  // What names no host at all is refused by Node's parser.
  it.each(['http://localhost@evil.example/', 'ftp://localhost/'])(
    'is refused in another form, with the reason: %s',
    async (target) => {
      for (const { url } of [stack.runtime, stack.identity, stack.discovery]) {
        const { status, body } = await send(target, { method: 'GET', url })
        expect(status).toBe(400)
        expect(body).toContain('neither a path nor a URL')
      }
    },
  )

  it.each(['identity', 'discovery'] as const)('is read by %s', async (name) => {
    const { url } = stack[name]
    const ask = (host: string) => send(`http://${host}${healthPaths.health}`, { method: 'GET', url })
    expect((await ask(hostOf(url))).status).toBe(200)
    // No page reaches discovery with a cookie or an address that it trusts: any name will do.
    expect((await ask('evil.example')).status).toBe(name === 'discovery' ? 200 : 403)
  })

  it('is that of a WebSocket, too', async () => {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }
    const open = (target: string) => send(target, { method: 'GET', headers })
    const own = `http://${hostOf(stack.runtime.url)}`
    for (const target of [rpcPath, `${rpcPath}/`, `${formerSocketPath}/`, own + rpcPath])
      expect((await open(target)).status, target).toBe(101)
    expect((await open(`http://evil.example${rpcPath}`)).status).toBe(403)
    expect((await open(`ftp://localhost${rpcPath}`)).status).toBe(400)
  })
})

describe('a proxy in front of the runtime', () => {
  it('is a host of the configuration with its port, with and without it in the Host', async () => {
    for (const Host of ['device.example', 'device.example:443'])
      expect(resultOf(await callAt(rpcPath, { Host }))).toBeDefined()
    const { port } = new URL(stack.runtime.url)
    expect((await callAt(rpcPath, { Host: `device.example:${port}` })).status).toBe(403)
  })

  it('that is not is refused with the name of the setting', async () => {
    const { status, body } = await callAt(rpcPath, { Host: 'other.example' })
    expect(status).toBe(403)
    expect(JSON.parse(body).error.message).toContain('"listen.hosts"')
  })
})
