/** Bodies of unauthenticated callers use a bounded part of the memory. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { rpcPath } from '@selvedge/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import type { CallContext } from './rpc-call.ts'
import { createRpcListener, type RpcListenerOptions } from './rpc-listener.ts'
import { attach, createHttpServer } from './server.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const head = (length: number) =>
  `POST ${rpcPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
const large = 1_000_000

async function serve() {
  const never = new Promise<never>(() => undefined)
  const listener = createRpcListener({
    dispatcher: {
      dispatch: (text) => (text === '"late"' ? never : `${text.length}`),
      refuse: () => 'refused',
    },
    guard: { port: undefined, allowedOrigins: [] },
    maxBody: 1024 * 1024,
  })
  const server = createHttpServer({})
  attach(server, listener)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ending.push(() => server.close())
  const answers: string[] = []
  const send = (...parts: string[]): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    ending.push(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => answers.push(chunk.toString('latin1').slice(9, 12)))
    for (const part of parts) socket.write(part)
    return socket
  }
  const count = (status: string) => answers.filter((each) => each === status).length
  return { send, count }
}

describe('large bodies', () => {
  it.each([
    ['alone', ''],
    ['behind a call that is not answered yet', `${head(6)}"late"`],
  ])('%s are refused while too many are on their way, and small ones are not', async (_, before) => {
    const { send, count } = await serve()
    const sockets = Array.from({ length: 80 }, () => send(before, head(large), ' '.repeat(large - 1)))
    // Answers that wait behind another one are not seen.
    if (before === '') await expect.poll(() => count('503')).toBe(16)
    send(head(2), '{}')
    await expect.poll(() => count('200')).toBe(1)
    for (const socket of sockets) socket.destroy()
    await expect
      .poll(() => {
        send(head(large), ' '.repeat(large))
        return count('200')
      })
      .toBeGreaterThan(1)
  })
})

describe('a listener', () => {
  let calls: CallContext[]
  let shed: unknown[]
  let port: number

  async function listen(options: Partial<RpcListenerOptions> = {}) {
    calls = []
    shed = []
    const listener = createRpcListener({
      dispatcher: {
        dispatch(text, context) {
          calls.push(context)
          if (text === '"notification"') return undefined
          if (text === '"late"') return Promise.resolve('"answered late"')
          if (text === '"fails"') return Promise.reject(new Error('broken'))
          if (text === '"busy"') (context as { isBusy?: boolean }).isBusy = true
          return `${text.length}`
        },
        refuse: ({ message }) => JSON.stringify(message),
      },
      guard: { port: undefined, allowedOrigins: ['https://page.example'] },
      maxBody: 200_000,
      shedder: { isBusy: () => false, wasRefused: (socket) => shed.push(socket) },
      ...options,
    })
    const server = createHttpServer({})
    attach(server, listener)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ending.push(() => server.close().closeAllConnections())
    port = (server.address() as AddressInfo).port
    return async (path: string, method: string, headers: object = {}, body: string | Buffer = '') => {
      const request = httpRequest({
        ...{ host: '127.0.0.1', port, path, method, agent: false },
        headers: { Host: 'localhost', ...headers },
      })
      request.end(body)
      const [response] = await Promise.race([
        once(request, 'response'),
        once(request, 'upgrade').then(([response, socket]) => {
          socket.destroy()
          return [response]
        }),
      ])
      const answer = response as IncomingMessage
      const content = await textOf(answer)
      return { status: answer.statusCode, headers: answer.headers, text: content }
    }
  }
  const json = { 'Content-Type': 'application/json' }
  const reasonOf = ({ text }: { text: string }) => JSON.parse(text).error.reason

  it('passes on a call with what its caller sent', async () => {
    const send = await listen({ nonce: () => 'next', overTls: true, isMeasured: true })
    const answer = await send(`${rpcPath}?a`, 'POST', { ...json, Authorization: 'DPoP t', DPoP: 'p' }, '{}')
    expect(answer).toMatchObject({ status: 200, text: '2', headers: { 'dpop-nonce': 'next' } })
    expect(calls).toMatchObject([
      {
        ...{ authorization: 'DPoP t', dpop: 'p', host: 'localhost', method: 'POST', path: rpcPath },
        ...{ overTls: true, begunAt: expect.any(Number), socket: expect.anything() },
      },
    ])
    expect(calls[0]!.begunAt).toBeGreaterThan(0)
    expect(answer.headers).not.toHaveProperty('retry-after')
    expect(shed).toEqual([])
  })

  it('sends a nonce only to callers with proofs, and measures nothing by default', async () => {
    let send = await listen({ nonce: () => 'next' })
    expect((await send(rpcPath, 'POST', json, '{}')).headers).not.toHaveProperty('dpop-nonce')
    expect(calls).toMatchObject([{ overTls: false, begunAt: 0, dpop: undefined }])
    send = await listen()
    expect((await send(rpcPath, 'POST', { ...json, DPoP: 'p' }, '{}')).headers).not.toHaveProperty(
      'dpop-nonce',
    )
  })

  it('answers notifications without a body, and later answers as well', async () => {
    const send = await listen()
    const nothing = await send(rpcPath, 'POST', json, '"notification"')
    expect([nothing.status, nothing.text]).toEqual([204, ''])
    expect(nothing.headers['x-request-id']).toMatch(/./)
    expect((await send(rpcPath, 'POST', json, '"late"')).text).toBe('"answered late"')
    await expect(send(rpcPath, 'POST', json, '"fails"')).rejects.toThrow('hang up')
  })

  it('a call that was shed is to come again, and its connection counts as refused', async () => {
    const send = await listen()
    expect((await send(rpcPath, 'POST', json, '"busy"')).headers['retry-after']).toBe('1')
    expect(shed).toEqual([calls[0]!.socket])
  })

  it.each([
    ['in Latin-1', Buffer.from('"\xfc"', 'latin1'), 'the body is not valid UTF-8'],
    ['in UTF-16', Buffer.from('\ufeff"\xfc\u{1f600}"', 'utf16le'), 'the byte order mark of UTF-16'],
    ['in big-endian UTF-16', Buffer.from([0xfe, 0xff, 0, 0x22]), 'the byte order mark of UTF-16'],
    ['that begins like it', Buffer.from([0xfe, 0x22]), 'the body is not valid UTF-8'],
  ])('a body %s is not read', async (_, body, message) => {
    const send = await listen()
    const { status, text } = await send(rpcPath, 'POST', json, body)
    expect(status).toBe(200)
    if (message.includes('UTF-16')) expect(text).toContain(message)
    else expect(text).toBe(JSON.stringify(message))
    expect(calls).toEqual([])
  })

  it.each([
    [65_536, 200, undefined],
    [65_537, 200, undefined],
    [200_000, 200, undefined],
    [200_001, 413, 'limit_exceeded'],
  ])('a body of %i bytes is answered with %i', async (length, status, reason) => {
    const turns: (() => void)[] = []
    const send = await listen({ oneATurn: (work) => turns.push(work) })
    const answered = send(rpcPath, 'POST', json, ' '.repeat(length))
    if (length > 65_536 && status === 200) {
      await expect.poll(() => turns.length).toBe(1)
      turns[0]!()
    }
    const answer = await answered
    expect([answer.status, reason && reasonOf(answer)]).toEqual([status, reason])
    expect(turns).toHaveLength(length > 65_536 && status === 200 ? 1 : 0)
    if (status === 200) return
    expect(answer.headers.connection).toBe('close')
    expect(answer.text).toContain('the body is larger than 200000 bytes; send a smaller one')
  })

  it.each([
    ['GET', rpcPath, {}, 405, 'method_not_allowed', 'send POST'],
    [
      'POST',
      rpcPath,
      {},
      415,
      'unsupported_media_type',
      'the content type is ""; send application/json in UTF-8',
    ],
    [
      'POST',
      rpcPath,
      { 'Content-Type': 'text/a' },
      415,
      'unsupported_media_type',
      'the content type is "text/a"; ',
    ],
    ['POST', rpcPath, { ...json, Host: 'evil.example' }, 403, undefined, ''],
    ['POST', rpcPath, { ...json, Origin: 'https://evil.example' }, 403, undefined, ''],
    ['POST', rpcPath, { ...json, Origin: 'https://page.example' }, 200, undefined, ''],
    ['OPTIONS', rpcPath, { Origin: 'https://page.example' }, 204, undefined, ''],
    ['GET', '/jsonrpc/v1/openrpc.json', {}, 404, 'not_found', 'the API is at POST /jsonrpc/v1'],
    ['GET', '/healthz', {}, 404, 'not_found', 'there is nothing at "/healthz"; '],
    ['GET', `/${'x'.repeat(300)}`, {}, 404, 'not_found', `at "/${'x'.repeat(199)}"; `],
  ])('%s %s with %j is answered with %i', async (method, path, headers, status, reason, message) => {
    const send = await listen()
    const answer = await send(path, method, headers, method === 'POST' ? '{}' : '')
    expect([answer.status, answer.headers.allow, answer.headers['retry-after']]).toEqual([
      ...[status, status === 405 ? 'POST' : undefined, undefined],
    ])
    if (reason !== undefined)
      expect(JSON.parse(answer.text)).toEqual({
        error: { code: status, reason, message: expect.stringContaining(message) },
      })
    expect(calls).toHaveLength(status === 200 ? 1 : 0)
  })

  it('answers HTTP/1.1 alone', async () => {
    await listen()
    const socket = connect(port, '127.0.0.1')
    ending.push(() => socket.destroy())
    const head = `POST ${rpcPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2`
    socket.write(`${head.replace('/1.1', '/2.0')}\r\n\r\n{}`)
    const answer = await textOf(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"bad_request"')
    expect(answer).toContain('the request is not of HTTP/1.1')
    expect(calls).toEqual([])
  })

  it('reads a call without a content type where that is allowed', async () => {
    const send = await listen({ readsUntyped: true })
    expect((await send(rpcPath, 'POST', {}, '{}')).status).toBe(200)
    expect((await send(rpcPath, 'POST', { 'Content-Type': 'text/plain' }, '{}')).status).toBe(415)
  })

  it('answers checks of its health, whether or not it is ready', async () => {
    let isReady = true
    let stalled: string[] = []
    const readiness = { isReady: () => isReady, isDraining: () => false, stalled: () => stalled }
    const send = await listen({ readiness: readiness as never })
    const state = async (path: string) => {
      const { status, text } = await send(path, 'GET')
      return [status, JSON.parse(text)]
    }
    expect([await state('/healthz'), await state('/readyz')]).toEqual(Array(2).fill([200, { status: 'ok' }]))
    isReady = false
    expect(await state('/healthz')).toEqual([200, { status: 'ok' }])
    expect(await state('/readyz')).toEqual([503, { status: 'unavailable' }])
    stalled = ['/sign-in']
    expect(await state('/readyz')).toEqual([503, { status: 'unavailable', stalled }])
    expect((await send('/readyz', 'HEAD')).status).toBe(503)
    expect(await send('/healthz', 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    expect((await send('/other', 'GET')).status).toBe(404)
  })

  it('shows its methods, and leaves other paths to others unless it is busy', async () => {
    let isBusy = false
    const seen: string[] = []
    const send = await listen({
      openRpc: () => '{"openrpc":"1"}',
      shedder: { isBusy: () => isBusy, wasRefused: () => undefined },
      others: { request: (request, response) => void response.end(`other ${seen.push(request.url!)}`) },
    })
    const document = '/jsonrpc/v1/openrpc.json'
    expect((await send(document, 'GET')).text).toBe('{"openrpc":"1"}')
    expect((await send(document, 'HEAD')).status).toBe(200)
    expect(await send(document, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    expect((await send('/other', 'GET')).text).toBe('other 1')
    expect((await send('/other', 'GET', { Host: 'evil.example' })).status).toBe(403)
    isBusy = true
    const refused = await send('/other', 'GET')
    expect([refused.status, reasonOf(refused), seen]).toEqual([503, 'busy', ['/other']])
  })

  const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' }
  it.each([
    ['for calls', rpcPath, {}, false, 101, ''],
    ['with a token in the query', `${rpcPath}?token`, {}, false, 404, 'not_found'],
    ['for another path', '/other', {}, false, 404, 'not_found'],
    ['of a foreign page', rpcPath, { Origin: 'https://evil.example' }, false, 403, ''],
    ['while it is busy', rpcPath, {}, true, 503, 'busy'],
    ['for another path while it is busy', '/other', {}, true, 404, 'not_found'],
  ])('a WebSocket %s (%s) is answered', async (_, path, headers, isBusy, status, reason) => {
    const given: object[] = []
    const send = await listen({
      overTls: true,
      shedder: { isBusy: () => isBusy, wasRefused: () => undefined },
      sockets: {
        upgrade(each: { socket: Socket }) {
          given.push(each)
          each.socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
        },
      } as never,
    })
    const answer = await send(path, 'GET', { ...upgrade, ...headers })
    expect([answer.status, answer.text.includes(`"${reason}"`)]).toEqual([status, reason !== ''])
    if (status === 404) expect(answer.text).toContain('there is no WebSocket at this path')
    if (status === 101) expect(given).toMatchObject([{ overTls: true, headers: { host: 'localhost' } }])
    else expect(given).toEqual([])
  })

  it('others serve a WebSocket for another path, and without sockets those for calls as well', async () => {
    const seen: string[] = []
    const others = {
      request: () => undefined,
      upgrade(request: IncomingMessage, socket: { end(text: string): void }) {
        seen.push(request.url!)
        socket.end('HTTP/1.1 418 X\r\nContent-Length: 0\r\n\r\n')
      },
    } as never
    let send = await listen({ others, sockets: { upgrade: () => undefined } as never })
    expect((await send('/other', 'GET', upgrade)).status).toBe(418)
    send = await listen({ others })
    expect((await send(rpcPath, 'GET', upgrade)).status).toBe(418)
    expect(seen).toEqual(['/other', rpcPath])
    send = await listen()
    expect((await send(rpcPath, 'GET', upgrade)).status).toBe(404)
  })
})
