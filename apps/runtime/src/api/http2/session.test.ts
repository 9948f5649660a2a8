/** Requests over HTTP/2, each of which the HTTP server of the runtime serves as one of HTTP/1.1. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { allowLargeBody } from '@selvedge/service-kit/http'
import { afterEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../../../tests/harness/certificate.ts'
import {
  codeOf,
  codes,
  flags,
  frame,
  headers,
  openRaw,
  types,
} from '../../../../../tests/harness/http2-frames.ts'
import {
  type Http2TestServer,
  request2,
  startHttp2Server,
} from '../../../../../tests/harness/http2-server.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { opens } from '../../../../../tests/harness/unread.ts'

let server: Http2TestServer
afterEach(() => server?.stop())

const get = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'x'],
] as const

describe('a request', () => {
  it.each<[string, string[]]>([
    ['without a body', []],
    ['with a body', ['abc', 'def']],
  ])('%s is served with its headers, and answered with those of the handler', async (_, body) => {
    server = await startHttp2Server((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        response.writeHead(201, { 'X-One': '1', 'Set-Cookie': ['a=b', 'c=d'], 'Keep-Alive': 'x' })
        response.end(
          `${request.method} ${request.url} ${request.headers.host} ${request.headers['x-in']} ${text}`,
        )
      })
    })
    const method = body.length > 0 ? 'POST' : 'GET'
    const answer = await request2(
      server.connect(),
      { ':method': method, ':path': '/p?q', 'x-in': 'y' },
      ...body,
    )
    expect(answer).toMatchObject({
      status: 201,
      code: 0,
      headers: { 'x-one': '1', 'set-cookie': ['a=b', 'c=d'] },
    })
    expect(answer.body).toBe(`${method} /p?q 127.0.0.1:${server.port} y ${body.join('')}`)
    expect(Object.keys(answer.headers)).not.toContain('keep-alive')
  })

  it.each([
    ['HEAD', 200, {}],
    ['GET', 204, {}],
    ['GET', 304, {}],
    ['GET', 200, { 'Content-Length': 0 }],
  ] as const)(
    '%s with the status %i and no body is answered by its head alone',
    async (method, status, extra) => {
      server = await startHttp2Server((_request, response) => response.writeHead(status, extra).end())
      const client = openRaw(server.port)
      client.send(headers(1, [[':method', method], ...get.slice(1)], flags.endStream))
      const head = await client.saw(types.headers, 1)
      expect(head.flag & flags.endStream).toBe(1)
      client.socket.destroy()
    },
  )

  it('gets the trailers of its answer', async () => {
    server = await startHttp2Server((_request, response) => {
      response.writeHead(200, { Trailer: 'Grpc-Status' })
      response.write('x')
      response.addTrailers({ 'Grpc-Status': '5', 'Grpc-Message': 'a'.repeat(5000) })
      response.end()
    })
    const answer = await request2(server.connect(), {})
    expect(answer).toMatchObject({ body: 'x', code: 0, trailers: { 'grpc-status': '5' } })
    expect(String(answer.trailers['grpc-message'])).toHaveLength(5000)
  })

  it('is answered with an end when it has no trailers', async () => {
    server = await startHttp2Server((_request, response) => {
      response.write('x')
      response.end('y')
    })
    const client = openRaw(server.port)
    client.send(headers(1, get, flags.endStream))
    await expect
      .poll(() =>
        client.frames.some(({ type, stream, flag }) => type === types.data && stream === 1 && flag === 1),
      )
      .toBe(true)
    expect(client.frames.some(({ type }) => type === types.reset)).toBe(false)
    client.socket.destroy()
  })

  it('is read and answered at the same time, in both directions', async () => {
    server = await startHttp2Server((request, response) => {
      request.on('data', (chunk) => response.write(`<${chunk}>`))
      request.on('end', () => response.end('.'))
    })
    const stream = server.connect().request({ ':method': 'POST' })
    stream.setEncoding('utf8')
    for (const piece of ['one', 'two', 'three']) {
      stream.write(piece)
      expect((await once(stream, 'data'))[0]).toBe(`<${piece}>`)
    }
    stream.end()
    expect((await once(stream, 'data'))[0]).toBe('.')
  })

  it('may stay open without bytes once its answer has begun, and not before', async () => {
    server = await startHttp2Server(
      (request, response) => {
        allowLargeBody(request)
        if (request.url === '/silent') return
        response.flushHeaders()
        request.on('data', (chunk) => response.write(chunk))
      },
      {},
      { bodySeconds: 0.3 },
    )
    const session = server.connect()
    const both = session.request({ ':method': 'POST' })
    await once(both, 'response')
    const silent = session.request({ ':method': 'POST', ':path': '/silent' })
    silent.on('error', () => undefined)
    silent.write('x')
    await new Promise((resolve) => silent.once('close', resolve))
    both.write('still')
    expect(String((await once(both, 'data'))[0])).toBe('still')
  })

  it('that is answered before its body is complete gets the answer at once', async () => {
    server = await startHttp2Server((_request, response) => {
      response.writeHead(403).end('no')
    })
    const client = openRaw(server.port)
    client.send(headers(1, [[':method', 'POST'], ...get.slice(1)]), frame(types.data, 0, 1, 'part'))
    await client.saw(types.data, 1)
    expect(codeOf(await client.saw(types.reset, 1))).toBe(codes.none)
    await expect.poll(() => server.underWay()).toBe(0)
    client.socket.destroy()
  })

  it('with an answer that is cut off is reset with an error', async () => {
    server = await startHttp2Server((_request, response) => {
      response.write('part', () => response.destroy())
    })
    const answer = await request2(server.connect(), {})
    expect(answer).toMatchObject({ status: 200, body: 'part', code: codes.internal })
  })

  it('that expects 100-continue may send its body', async () => {
    server = await startHttp2Server((request, response) => {
      request.on('end', () => response.end('read'))
    })
    const stream = server.connect().request({ ':method': 'POST', expect: '100-continue' })
    await once(stream, 'continue')
    stream.end('x')
    const [head] = await once(stream, 'response')
    expect(head[':status']).toBe(200)
  })

  it('that HTTP/1.1 cannot carry is refused with a sentence', async () => {
    server = await startHttp2Server()
    const answer = await request2(server.connect(), { ':authority': 'x', host: 'y' })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body).error.message).toBe('the request is malformed: :authority and host differ')
  })
})

describe('a connection', () => {
  it('closes when it had no stream for a while', async () => {
    server = await startHttp2Server(undefined, { idleMs: 50, closeMs: 50 })
    const client = openRaw(server.port)
    client.send(headers(1, get, flags.endStream))
    await client.saw(types.data, 1)
    await client.saw(types.goaway)
    await client.closed
  })

  it('that never closes its half is closed', async () => {
    server = await startHttp2Server(undefined, { idleMs: 20, closeMs: 20 })
    const client = openRaw(server.port)
    client.socket.allowHalfOpen = true
    await client.saw(types.goaway)
    await expect.poll(() => server.connections()).toBe(0)
    client.socket.destroy()
  })

  it('closes after the answer while the daemon is about to stop', async () => {
    server = await startHttp2Server(undefined, { closeMs: 50 }, { isDraining: () => true })
    const session = server.connect()
    const closed = once(session, 'close')
    expect(await request2(session, {})).toMatchObject({ status: 200, body: 'hello', code: 0 })
    await closed
  })

  it('with streams counts as each of them, and one without is closed first', async () => {
    server = await startHttp2Server(
      (request, response) => {
        if (request.url === '/wait') response.write('x')
        else response.end('hello')
      },
      {},
      { connections: 16 },
    )
    const idle = openRaw(server.port)
    await idle.saw(types.settings)
    const session = server.connect()
    const streams = Array.from({ length: 13 }, () => session.request({ ':path': '/wait' }))
    await Promise.all(streams.map((stream) => once(stream, 'data')))
    // 15 of 16: the next ones end the connection that waits for its client.
    expect(await server.ask()).toBe(200)
    const more = Array.from({ length: 8 }, () => session.request({ ':path': '/wait' }))
    const statuses = await Promise.all(
      more.map(async (stream) => (await once(stream, 'response'))[0][':status']),
    )
    await idle.closed
    expect(statuses).toContain(503)
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(4)
    expect(server.underWay()).toBeLessThan(16)
    for (const stream of streams) expect(stream.closed).toBe(false)
  })
})

describe('over TLS', needs('openssl', 'curl'), () => {
  it.each([
    ['--http2', '2'],
    ['--http1.1', '1.1'],
  ])('a client with %s speaks HTTP/%s', async (option, version) => {
    const folder = mkdtempSync(join(tmpdir(), 'http2-'))
    try {
      const files = makeCertificate(folder, 'http2')
      const tls = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
      server = await startHttp2Server(
        (request, response) => response.end(String('encrypted' in request.socket)),
        {},
        {},
        tls,
      )
      const args = ['--silent', '--cacert', files.cert, option, '--write-out', ' %{http_version}']
      const { stdout } = await promisify(execFile)('curl', [...args, `https://127.0.0.1:${server.port}/`])
      expect(stdout).toBe(`true ${version}`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

it(
  'an answer without a reader is not read from its source',
  opens('apps/runtime/src/api/http2/stream-socket.ts'),
  async () => {
    let written = 0
    server = await startHttp2Server((_request, response) => {
      const fill = () => {
        while (!response.destroyed && written < 100_000_000) {
          written += 65_536
          if (!response.write(Buffer.alloc(65_536))) return
        }
      }
      response.on('drain', fill)
      fill()
    })
    const stream = server.connect().request({})
    await once(stream, 'response')
    stream.pause()
    for (let last = -1; last !== written; last = written) expect(await server.ask()).toBe(200)
    expect(written).toBeLessThan(4_000_000)
    stream.resume()
    await expect.poll(() => written).toBeGreaterThan(10_000_000)
  },
)
