/**
 * gRPC's own C-core library on both sides of the gateway: as the client, and as the service behind it. The gateway and its HTTP server run in
 * the process of the test; a container with a service of HTTP/2 is in `tests/system/services/h2c.test.ts`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { RpcError } from '@selvedge/protocol'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProvenRequest } from '../../../../apps/runtime/src/device/tokens/proof.ts'
import { awaitGrpc } from '../../../../apps/runtime/src/services/containers/grpc-health.ts'
import { createGateway, type GatewayParts } from '../../../../apps/runtime/src/services/gateway/gateway.ts'
import { type Http2TestServer, startHttp2Server } from '../../../harness/http2-server.ts'
import { needs } from '../../../harness/installed.ts'

const python = '/usr/bin/python3'
const script = (name: string): string => `${import.meta.dirname}/${name}.py`

describe('gRPC through the gateway', needs('grpcio'), () => {
  let service: ChildProcess
  let port = 0
  let server: Http2TestServer
  let gateway: ReturnType<typeof createGateway>
  const running = {
    instance: { upstream: { host: '127.0.0.1', port: 0 } },
    plan: { content: { kind: 'oci' }, settings: { 'MCM.PROTOCOL': 'h2c' }, log: () => undefined },
    ...{ requests: createWorkCount(), unanswered: createLimitedWork(), lastUsed: 0 },
  }
  beforeAll(async () => {
    service = spawn(python, [script('server')], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = await once(createInterface(service.stdout!), 'line')
    port = Number(line)
    running.instance.upstream.port = port
    const settings = { 'MCM.MAX_EXECUTION_TIME_SEC': 60, 'MCM.PAGES': 'sandboxed' }
    const route = {
      id: 'p-echo',
      container: { accountId: 'a' },
      settings,
      service: { acquire: () => running },
    }
    gateway = createGateway({
      routes: {
        find: (path: string) => (path === '/p/echo' ? { route, prefix: path, rest: '/' } : undefined),
      },
      admit: (_route: unknown, { shown }: ProvenRequest) => {
        if (shown?.token !== 'right')
          throw new RpcError('token_missing', 'the service p-echo needs an access token')
        return { account: 'a', client: 'p', scope: '', container: '', expectStillValid: () => undefined }
      },
      accountId: () => 'a',
      lasting: { watch: () => () => undefined },
      now: () => performance.now(),
      nonce: () => '',
      onInternalError: String,
    } as unknown as GatewayParts)
    server = await startHttp2Server((request, response) => {
      request.removeAllListeners('data')
      gateway.handle(request, response)
    })
  })
  afterAll(async () => {
    gateway?.close()
    await server?.stop()
    const ended = once(service, 'close')
    service.stdin?.end()
    await ended
  })

  async function call(token: string, name = '/p/echo') {
    const { stdout } = await promisify(execFile)(python, [
      script('client'),
      `127.0.0.1:${server.port}`,
      token,
      name,
    ])
    return JSON.parse(stdout)
  }

  it('carries calls, streams in both directions, failures, deadlines and cancellations', async () => {
    expect(await call('right')).toEqual({
      unary: ['unary hello account=a', 'trailer', [0, 255]],
      collect: 'a,b,cc',
      count: 2000,
      chat: ['now', ['<one>', '<two>']],
      fail: ['FAILED_PRECONDITION', 'not yet: café, 100%'],
      missing: ['UNIMPLEMENTED', 'Method not found!'],
      remaining: true,
      deadline: 'DEADLINE_EXCEEDED',
      cancel: 'CANCELLED',
      missed: true,
    })
    await expect.poll(() => running.requests.underWay).toBe(0)
    expect(running.unanswered.underWay).toBe(0)
  })

  it('checks the token of every call', async () => {
    for (const token of ['', 'wrong'])
      expect(
        Object.values(await call(token))
          .slice(0, 6)
          .map((each) => (each as string[])[0]),
      ).toEqual(Array(6).fill('UNAUTHENTICATED'))
  })

  it('knows no service by a part of its path, or without one', async () => {
    for (const name of ['/p', '/p/echo/', '/p/echo/x', '', '/'])
      expect((await call('right', name)).unary[0]).toBe('UNIMPLEMENTED')
  })

  it('a service with the health check of gRPC is ready', async () => {
    const never = new Promise<never>(() => undefined)
    expect(await awaitGrpc({ host: '127.0.0.1', port }, 30, never)).toBeUndefined()
  })
})
