import { afterEach, describe, expect, it } from 'vitest'
import { frame, headers, serveRaw, types } from '../../../../../tests/harness/http2-frames.ts'
import { startHttp2Service } from '../../../../../tests/harness/http2-proxy.ts'
import { awaitGrpc, probeGrpc, statusIn } from './grpc-health.ts'
import { probeOf } from './probe.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const message = (...bytes: number[]) => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes])

/** A service with a health check that answers with a message and a status of gRPC. */
async function service(body: Buffer, code = '0', status = 200) {
  const started = await startHttp2Service((stream, { ':path': path, 'content-type': type }) => {
    const isCheck = path === '/grpc.health.v1.Health/Check' && type === 'application/grpc'
    stream.respond({ ':status': isCheck ? status : 404 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': code }))
    stream.end(body)
  })
  ending.push(started.stop)
  return { host: '127.0.0.1', port: started.port }
}

const never = new Promise<never>(() => undefined)

describe('the health check of gRPC', () => {
  it('is passed by a service that serves', async () => {
    const upstream = await service(message(8, 1))
    expect(await probeGrpc(upstream, 5000)).toBeUndefined()
    expect(await awaitGrpc(upstream, 5, never)).toBeUndefined()
  })

  it.each([
    ['does not serve', message(8, 2), '0', 200, 'answered NOT_SERVING'],
    ['does not know', message(), '0', 200, 'answered UNKNOWN'],
    ['has no such method', message(), '12', 200, 'answered with the gRPC status 12'],
    ['answers with a failure of HTTP', message(8, 1), '0', 503, 'answered 503'],
    ['answers with another message', Buffer.from('hello, world'), '0', 200, 'answered with something else'],
    ['answers with much', Buffer.alloc(1_000_000), '0', 200, 'answered with something else'],
  ])('is failed by a service that %s', async (_, body, code, status, problem) => {
    const upstream = await service(body, code, status)
    expect(await probeGrpc(upstream, 5000)).toBe(`/grpc.health.v1.Health/Check ${problem}`)
  })

  it.each<[string, Parameters<typeof serveRaw>[0]]>([
    [
      'resets the stream',
      (each, socket) =>
        void (each.type === types.headers && socket.write(frame(types.reset, 0, 1, '\0\0\0\x08'))),
    ],
    ['closes', (_, socket) => void socket.destroy()],
    ['speaks another protocol', (_, socket) => void socket.write('SSH-2.0-x\r\n'.repeat(10))],
    [
      'answers twice',
      (each, socket) =>
        void (
          each.type === types.headers &&
          socket.write(
            Buffer.concat([headers(1, [[':status', '404']], 1), headers(1, [[':status', '200']], 1)]),
          )
        ),
    ],
  ])('is failed, in time, by a service that %s', async (_, onFrame) => {
    const { port, stop } = await serveRaw(onFrame)
    ending.push(stop)
    expect(await probeGrpc({ host: '127.0.0.1', port }, 20_000)).toMatch(
      /^\/grpc\.health\.v1\.Health\/Check /,
    )
  })

  it('is failed by a service that never answers', async () => {
    const { port, stop } = await serveRaw(() => undefined)
    ending.push(stop)
    expect(await probeGrpc({ host: '127.0.0.1', port }, 50)).toContain('did not answer within 50 ms')
  })
})

it.each([
  [message(8, 1), 1],
  [message(), 0],
  [message(8, 0x81), undefined],
  [message(16, 1), undefined],
  [Buffer.from([1, 0, 0, 0, 2, 8, 1]), undefined],
  [Buffer.from([0, 0, 0, 0, 3, 8, 1]), undefined],
  [Buffer.alloc(4), undefined],
])('reads the status of %j as %j', (body, status) => {
  expect(statusIn(body)).toBe(status)
})

it('a health path of a service that speaks HTTP/2 is requested over HTTP/2', async () => {
  const started = await startHttp2Service((stream, { ':path': path, ':method': method }) =>
    stream.respond({ ':status': path === '/health' && method === 'GET' ? 200 : 500 }, { endStream: true }),
  )
  ending.push(started.stop)
  const upstream = { host: '127.0.0.1', port: started.port }
  expect(await probeOf(true)(upstream, '/health', 5000)).toBeUndefined()
  expect(await probeOf(true)(upstream, '/other', 5000)).toBe('/other answered 500')
})
