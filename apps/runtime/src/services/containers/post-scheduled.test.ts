/** The request that calls an OCI container at a time of `MCM.CRON`. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { readSettings } from '@selvedge/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import type { Running } from './instances.ts'
import { postScheduled } from './post-scheduled.ts'

const event = { cron: '*/5 * * * *', time: 1_767_225_600_000 }
const close: (() => unknown)[] = []
afterEach(() => {
  for (const each of close.splice(0)) each()
})

async function post(server: Server, env = {}, timeoutMs = 60_000): Promise<void> {
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close.push(() => {
    for (const each of sockets) each.destroy()
    server.close()
  })
  const upstream = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const plan = { content: { kind: 'oci' }, settings: readSettings(env) }
  return postScheduled({ instance: { upstream }, plan } as unknown as Running, event, timeoutMs)
}

interface Seen {
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const expected = {
  url: '/cron/a',
  body: '{"cron":"*/5 * * * *","scheduledTime":1767225600000}',
  headers: {
    'content-type': 'application/json',
    'x-selvedge-scheduled': '*/5 * * * *',
    'user-agent': 'selvedge-scheduled',
  },
}

describe('the request of a time', () => {
  it.each([
    ['HTTP/1.1', createServer, {}],
    ['HTTP/2', createHttp2Server, { 'MCM.PROTOCOL': 'h2c' }],
  ])('is a POST with the expression and the time, over %s', async (_, create, env) => {
    const seen: Seen[] = []
    const server = (create as typeof createServer)(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push({ url: request.url, headers: request.headers, body })
      expect(request.method).toBe('POST')
      response.writeHead(204).end()
    })
    await post(server, { 'MCM.CRON_PATH': '/cron/a', ...env })
    expect(seen).toMatchObject([expected])
  })

  it.each<[string, RequestListener, RegExp]>([
    [
      'a status of a failure',
      (_, response) => response.writeHead(500).end(),
      /^POST \/scheduled answered 500$/,
    ],
    [
      'a redirect',
      (_, response) => response.writeHead(307, { Location: '/' }).end(),
      /^POST \/scheduled answered 307$/,
    ],
    [
      'an answer without an end',
      (_, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        }
        response.on('drain', more)
        more()
      },
      /^POST \/scheduled answered with more than 65536 bytes$/,
    ],
    ['no answer', (request) => request.socket.destroy(), /^POST \/scheduled did not answer: /],
    [
      'half of an answer',
      (_, response) => {
        response.writeHead(200, { 'Content-Length': 9 }).write('half')
        response.socket?.destroySoon()
      },
      /^POST \/scheduled did not answer: /,
    ],
    [
      'an upgrade',
      (request) => request.socket.write('HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      /^POST \/scheduled did not answer: /,
    ],
  ])('fails after %s', async (_, listener, message) => {
    await expect(post(createServer(listener))).rejects.toThrow(message)
  })

  it('fails after an answer that is no HTTP', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n'))
    await expect(post(server)).rejects.toThrow(/^POST \/scheduled did not answer: /)
  })

  it('is broken off after its time', async () => {
    const left = Promise.withResolvers<void>()
    const server = createServer((request) => request.socket.on('close', left.resolve))
    await expect(post(server, {}, 50)).rejects.toThrow('POST /scheduled did not answer within 50 ms')
    await left.promise
  })
})
