import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest'
import {
  type ConnectionFailure,
  createIdentityClient,
  createRuntimeClient,
  isSelvedgeError,
  type RpcFailure,
  type SelvedgeError,
} from './index.ts'
import { createNodeFetch, followLogs } from './node/index.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener, path?: string): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) =>
    path ? server.listen(path, resolve) : server.listen(0, '127.0.0.1', resolve),
  )
  return path ? 'http://localhost' : `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const answer =
  (value: unknown, status = 200): RequestListener =>
  (request, response) => {
    request.resume()
    response
      .writeHead(status, { 'Content-Type': 'application/json' })
      .end(typeof value === 'string' ? value : JSON.stringify(value))
  }
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (cause: unknown) => cause as SelvedgeError,
  )

const fetches = { 'the platform’s fetch': undefined, 'the fetch of ./node': createNodeFetch() } as const

describe.each(Object.entries(fetches))('a client with %s', (_, fetch) => {
  const client = (url: string, more: object = {}) =>
    createRuntimeClient({ url, ...(fetch && { fetch }), ...more })

  it('gives the result', async () => {
    const url = await serve(answer({ jsonrpc: '2.0', id: 1, result: { id_token: 'x' } }))
    expect(await client(url).getEdgeIdToken()).toEqual({ id_token: 'x' })
  })

  it('gives a refusal with its reason, hint, error ID and whether to try again', async () => {
    const error = {
      code: -32010,
      message: 'Service unavailable',
      data: {
        ...{ reason: 'identity_unavailable', detail: 'away', hint: 'wait' },
        ...{ retryable: true, errorId: 'log-1' },
      },
    }
    const failure = (await failureOf(
      client(await serve(answer({ jsonrpc: '2.0', id: 1, error }))).getEdgeIdToken(),
    )) as RpcFailure
    expect(isSelvedgeError(failure)).toBe(true)
    expect(failure).toMatchObject({
      kind: 'rpc',
      reason: 'identity_unavailable',
      code: -32010,
      message: 'away',
      hint: 'wait',
      retryable: true,
      errorId: 'log-1',
    })
  })

  it.each([
    ['a text that is no text', { reason: 'busy', detail: { toString: 1 }, hint: 'wait' }],
    ['a reason that is no text', { reason: { toString: 1 }, detail: 'x', hint: 'wait' }],
    ['no hint', { reason: 'busy', detail: 'x' }],
  ])('reports an error with %s as a wrong response', async (_, data) => {
    const error = { code: -32013, message: 'x', data }
    const url = await serve(answer({ jsonrpc: '2.0', id: 1, error }))
    expect(await failureOf(client(url).getMe())).toMatchObject({ kind: 'connection', reason: 'bad_answer' })
  })

  it('ignores an error ID that is not a text', async () => {
    const data = { reason: 'busy', detail: 'x', hint: 'wait', retryable: true, errorId: { toString: 1 } }
    const url = await serve(answer({ jsonrpc: '2.0', id: 1, error: { code: -32013, message: 'x', data } }))
    expect(await failureOf(client(url).getMe())).toMatchObject({ kind: 'rpc', errorId: undefined })
  })

  it('reports that nothing answers', async () => {
    expect(await failureOf(client('http://127.0.0.1:9').getMe())).toMatchObject({
      kind: 'connection',
      reason: 'not_running',
    })
  })

  it('waits no longer than it may', async () => {
    const url = await serve(() => undefined)
    expect(await failureOf(client(url, { timeoutMs: 50 }).getMe())).toMatchObject({
      kind: 'connection',
      reason: 'timeout',
    })
  })

  it('stops on request', async () => {
    const controller = new AbortController()
    const call = failureOf(client(await serve(() => undefined)).getMe({}, { signal: controller.signal }))
    setTimeout(() => controller.abort(), 20)
    expect(await call).toMatchObject({ kind: 'connection', reason: 'aborted' })
  })

  it.each([
    ['something that is not JSON', answer('<html>'), 'bad_answer'],
    ['neither result nor error', answer({ jsonrpc: '2.0', id: 1 }), 'bad_answer'],
    ['HTTP 403', answer({ error: { code: 403, reason: 'foreign_host', message: 'no' } }, 403), 'refused'],
    ['nothing', answer('', 204), 'refused'],
  ])('understands that %s is no answer', async (__, listener, reason) => {
    expect(await failureOf(client(await serve(listener)).getMe())).toMatchObject({
      kind: 'connection',
      reason,
    })
  })

  it('rejects when the answer is a change of the protocol', async () => {
    const url = await serve(() => undefined)
    servers
      .at(-1)!
      .on('connection', (socket) =>
        socket.once('data', () =>
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
        ),
      )
    const failure = await failureOf(client(url, { timeoutMs: 1000 }).getMe())
    expect(failure).toMatchObject({ kind: 'connection' })
  })

  it('follows no redirect', async () => {
    const target = await serve(answer({ jsonrpc: '2.0', id: 1, result: {} }))
    const url = await serve((request, response) => {
      request.resume()
      response.writeHead(307, { Location: `${target}/jsonrpc/v1` }).end()
    })
    expect(await failureOf(client(url).getMe())).toMatchObject({ kind: 'connection' })
  })

  it('reads no answer without an end', async () => {
    let sent = 0
    const url = await serve((request, response) => {
      request.resume()
      response.writeHead(200, { 'Content-Type': 'application/json' })
      const piece = Buffer.alloc(1024 * 1024, ' ')
      const send = () => {
        for (sent += piece.length; response.write(piece) && !response.destroyed; ) sent += piece.length
      }
      response.on('drain', send)
      send()
    })
    expect(await failureOf(client(url, { timeoutMs: 60_000 }).getMe())).toMatchObject({ kind: 'connection' })
    expect(sent).toBeLessThan(64_000_000)
  })

  it('sends the API key', async () => {
    let seen: string | undefined
    const url = await serve((request, response) => {
      seen = request.headers.authorization
      answer({ jsonrpc: '2.0', id: 1, result: {} })(request, response)
    })
    await client(url, { apiKey: 'secret' }).getMe()
    expect(seen).toBe('Bearer secret')
  })
})

it('makes a new proof when it sends a request again that the service could not store', async () => {
  const proofs: (string | undefined)[] = []
  const url = await serve((request, response) => {
    proofs.push(request.headers.dpop as string | undefined)
    const status = proofs.length === 1 ? 503 : 400
    response.setHeader('Retry-After', '0')
    answer({ error: status === 503 ? 'temporarily_unavailable' : 'invalid_request' }, status)(
      request,
      response,
    )
  })
  let made = 0
  const call = createIdentityClient({ url }).edgeToken(() => `proof ${++made}`)
  expect(await failureOf(call)).toMatchObject({ reason: 'invalid_request' })
  expect(proofs).toEqual(['proof 1', 'proof 2'])
})

it('speaks over a Unix socket, many calls at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  const socketPath = join(folder, 'x.sock')
  const url = await serve(answer({ jsonrpc: '2.0', id: 1, result: { id_token: 'x' } }), socketPath)
  const client = createRuntimeClient({ url, fetch: createNodeFetch({ socketPath }) })
  expect(await Promise.all(Array.from({ length: 20 }, () => client.getEdgeIdToken()))).toHaveLength(20)
  rmSync(folder, { recursive: true })
})

describe('a log that is followed', () => {
  const follow = (url: string) =>
    followLogs({ url, edgeAccessToken: 'x' }, 'a', {}, () => undefined).then(
      () => undefined,
      (cause: unknown) => cause as SelvedgeError,
    )

  it.each([
    ['a line without an end', 200, 'x'.repeat(100_000)],
    ['a refusal without an end', 500, ' '.repeat(100_000)],
  ])('ends with %s', async (_, status, piece) => {
    let sent = 0
    const url = await serve((_request, response) => {
      response.writeHead(status)
      const send = () => {
        do sent += piece.length
        while (response.write(piece) && !response.destroyed)
      }
      response.on('drain', send)
      send()
    })
    expect(await follow(url)).toMatchObject({ kind: 'connection', reason: 'bad_answer' })
    expect(sent).toBeLessThan(20_000_000)
  })

  it('ends with a line that is not JSON', async () => {
    const url = await serve((_, response) => void response.end('x\n'))
    expect(await follow(url)).toMatchObject({ kind: 'connection', reason: 'bad_answer' })
  })
})

it('is typed: parameters, results and reasons come from the method table', () => {
  const client = createRuntimeClient({ url: 'http://x' })
  expectTypeOf(client.updateGps).parameter(0).toEqualTypeOf<{
    edgeAccessToken: string
    longitude: string | number
    latitude: string | number
    speed: string | number
    bearing: string | number
  }>()
  expectTypeOf(client.updateGps).returns.resolves.toEqualTypeOf<{ status: 'ok' | 'queued' }>()
  expectTypeOf<'token_expired'>().toExtend<RpcFailure['reason']>()
  expectTypeOf<ConnectionFailure['kind']>().toEqualTypeOf<'connection'>()
})
