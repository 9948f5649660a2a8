/** WebSockets through the gateway, to services that answer strangely and with readers that never read. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import { attach, createHttpServer } from '@selvedge/service-kit/http'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { frame, opcodes } from '../../../../../tests/harness/raw-websocket.ts'
import { manyTurns, opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import type { Running } from '../containers/instances.ts'
import { maxMessageBytes } from './client-messages.ts'
import { passUpgrade } from './upgrade.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const end of ending.splice(0)) end()
})

/** A gateway in front of a service that gets its connections raw, once it was asked for an upgrade. */
async function front(
  onRequest: (socket: Socket) => void,
  {
    started = () => undefined,
    kind = 'oci',
    isOfEvents = false,
  }: { started?: () => Promise<unknown> | undefined; kind?: string; isOfEvents?: boolean } = {},
) {
  const sockets = new Set<Socket>()
  const upstream = createSocketServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    // The gateway has to close it; this side may stay half open.
    for (const event of ['end', 'close']) socket.on(event, () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', () => onRequest(socket))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => upstream.once('listening', resolve))
  const running = {
    instance: { upstream: { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port } },
    plan: { log: () => undefined, content: { kind } },
    requests: createWorkCount(),
    unanswered: createLimitedWork(),
    lastUsed: 0,
  } as unknown as Running
  const server = createHttpServer({})
  const callerGone = Promise.withResolvers<void>()
  attach(server, {
    request: (_request, response) => response.end('not upgraded'),
    upgrade: async (request, socket, head) => {
      socket.on('error', () => socket.destroy())
      socket.once('close', () => callerGone.resolve())
      await started()
      passUpgrade(
        socket,
        head,
        {
          running,
          path: request.url!,
          headers: ['Host', 'x'],
          sandboxed: false,
          speaksHttp2: false,
          wantsTrailers: false,
          isOfEvents,
          requestId: 'id-1',
          limitMs: 5000,
          onOverrun: () => undefined,
          endWithCaller: () => () => undefined,
        },
        () => 0,
      )
    },
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  client.write('GET /s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  ending.push(() => {
    client.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
    upstream.close()
  })
  return { client, running, sockets, callerGone: callerGone.promise }
}

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

it('sets no session cookie of the console with the answer to a handshake', async () => {
  const setting = switching.replace(
    'Connection',
    'Set-Cookie: selvedge_session=x; Path=/\r\nSet-Cookie: own=1\r\nConnection',
  )
  const { client } = await front((socket) => socket.write(setting))
  const [head] = await once(client, 'data')
  expect(String(head)).toContain('101 Switching Protocols')
  expect(String(head)).toContain('Set-Cookie: own=1')
  expect(String(head)).not.toContain('selvedge_session')
})

describe('an upgrade', () => {
  it(
    'reads the service no faster than a client that never reads',
    opens('apps/runtime/src/services/gateway/upgrade.ts'),
    async () => {
      let taken: Promise<number> | undefined
      const { client } = await front((socket) => {
        socket.write(switching)
        taken = writeUntilFull(socket)
      })
      client.pause()
      await expect.poll(() => taken).toBeDefined()
      expect(await taken).toBeLessThan(50_000_000)
    },
  )

  it(
    'reads the client no faster than a service that never reads',
    opens('apps/runtime/src/services/gateway/upgrade.ts'),
    async () => {
      const { client } = await front((socket) => {
        socket.write(switching)
        socket.pause()
      })
      await new Promise((resolve) => client.once('data', resolve))
      expect(await writeUntilFull(client)).toBeLessThan(50_000_000)
    },
  )

  it.each<[string, string, RegExp]>([
    ['the status 000', 'HTTP/1.1 000 X\r\n\r\n', /^HTTP\/1\.1 502 /],
    ['something that is not HTTP', 'SSH-2.0-x\r\n\r\n', /^HTTP\/1\.1 502 /],
    ['nothing', '', /^HTTP\/1\.1 502 /],
    ['headers without end', `HTTP/1.1 101 X\r\nX: ${'y'.repeat(100_000)}`, /^HTTP\/1\.1 502 /],
    [
      'a refusal',
      'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno',
      /^HTTP\/1\.1 403 No.*Connection: close.*no$/s,
    ],
  ])('to a service that answers %s is refused', async (_, answer, expected) => {
    const { client, running } = await front((socket) => socket.end(answer))
    let text = ''
    client.on('data', (chunk) => {
      text += chunk
    })
    await new Promise((resolve) => client.once('close', resolve))
    expect(text).toMatch(expected)
    await expect.poll(() => running.requests.underWay).toBe(0)
  })

  it('of a client that is gone before the service has started reaches no service', async () => {
    const began = Promise.withResolvers<void>()
    const start = Promise.withResolvers<void>()
    let asked = 0
    const { client, running, callerGone } = await front(() => asked++, {
      started: () => {
        began.resolve()
        return start.promise
      },
    })
    await began.promise
    client.resetAndDestroy()
    await callerGone
    start.resolve()
    await manyTurns()
    expect([asked, running.requests.underWay]).toEqual([0, 0])
  })

  it.each<[string, (client: Socket, service: Socket) => unknown]>([
    ['the client ends it', (client) => client.end()],
    ['the client resets it', (client) => client.resetAndDestroy()],
    ['the service ends it', (_, service) => service.end()],
    ['the service resets it', (_, service) => service.resetAndDestroy()],
  ])('ends on both sides when %s and the other continues', async (_, end) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { client, running, sockets } = await front((socket) => {
      socket.write(switching)
      socket.resume()
    })
    client.allowHalfOpen = true
    await new Promise((resolve) => client.once('data', resolve))
    expect([running.requests.underWay, sockets.size]).toEqual([1, 1])
    const [service] = sockets
    end(client, service!)
    // The other side has a moment to close, too.
    await expect
      .poll(() => {
        vi.advanceTimersByTime(500)
        return [running.requests.underWay, sockets.size]
      })
      .toEqual([0, 0])
    await expect.poll(() => client.readableEnded || client.destroyed).toBe(true)
  })
})

describe('a message of a client', () => {
  const piece = Buffer.alloc(16 * 1024)
  const { text, continuation } = opcodes

  it.each<[string, { kind: string; isOfEvents: boolean }, number]>([
    ['to the events of a function', { kind: 'function', isOfEvents: true }, maxMessageBytes.ofEvents],
    ['to a function', { kind: 'function', isOfEvents: false }, maxMessageBytes.ofFunctions],
  ])('%s ends the connection where its pieces are too long together', async (_, front_, maxBytes) => {
    let received = 0
    const { client } = await front((socket) => {
      socket.write(switching)
      socket.on('data', (chunk) => {
        received += chunk.length
      })
    }, front_)
    let answer = Buffer.alloc(0)
    await once(client, 'data')
    client.on('data', (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk])
    })
    const last = frame(piece, { opcode: continuation })
    client.write(frame(piece, { fin: false, opcode: text }))
    for (let at = 2; at * piece.length < maxBytes; at++)
      client.write(frame(piece, { fin: false, opcode: continuation }))
    client.write(last)
    client.write(frame('x'))
    client.write(frame('', { opcode: opcodes.ping }))
    await expect.poll(() => received).toBeGreaterThan(maxBytes)
    expect(answer.length).toBe(0)
    const whole = received
    client.write(frame(piece.subarray(1), { fin: false }))
    // A frame of its own between the pieces is not the end of the message.
    client.write(frame('', { opcode: opcodes.ping }))
    client.write(frame('', { fin: false, opcode: continuation, declared: maxBytes - piece.length + 2 }))
    await once(client, 'close')
    expect(answer.readUInt16BE(2)).toBe(1008)
    expect(answer.subarray(4).toString()).toBe(`limit_exceeded: a message may have ${maxBytes} bytes`)
    expect(received - whole).toBeLessThan(2 * piece.length)
  })

  it('to an OCI container is not limited', async () => {
    let received = 0
    const { client } = await front((socket) => {
      socket.write(switching)
      socket.on('data', (chunk) => {
        received += chunk.length
      })
    })
    await once(client, 'data')
    const size = maxMessageBytes.ofFunctions + 1
    client.write(frame(Buffer.alloc(size)))
    await expect.poll(() => received).toBeGreaterThan(size)
  })
})
