/** WebSockets through the gateway, to services that answer strangely and with readers that never read. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createSocketServer, type Socket } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { attach, createHttpServer } from '@selvedge/service-kit/http'
import { createLimitedWork, createWorkCount } from '@selvedge/service-kit/work'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { frame, opcodes } from '../../../../../tests/harness/raw-websocket.ts'
import { manyTurns, opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import type { Running } from '../containers/instances.ts'
import { maxMessageBytes } from './client-messages.ts'
import type { Passage } from './passage.ts'
import { passUpgrade } from './upgrade.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const end of ending.splice(0)) end()
})

/** A gateway in front of a service that gets its connections raw, once it was asked for an upgrade. */
async function front(
  onRequest: (socket: Socket, request: string) => void,
  {
    started = () => undefined,
    kind = 'oci',
    early = '',
    ...more
  }: Partial<Passage> & {
    started?: () => Promise<unknown> | undefined
    kind?: string
    /** What the client sends behind its request. */
    early?: string | Buffer
  } = {},
) {
  const sockets = new Set<Socket>()
  const upstream = createSocketServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    // The gateway has to close it; this side may stay half open.
    for (const event of ['end', 'close']) socket.on(event, () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (request) => onRequest(socket, String(request)))
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
          isOfEvents: false,
          requestId: 'id-1',
          limitMs: 5000,
          onOverrun: () => undefined,
          endWithCaller: () => () => undefined,
          ...more,
        },
        () => 0,
      )
    },
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  const request = 'GET /s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  client.write(Buffer.concat([Buffer.from(request), Buffer.from(early)]))
  ending.push(() => {
    client.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
    upstream.close()
  })
  const counts = () => [running.requests.underWay, running.unanswered.underWay]
  return { client, running, counts, sockets, callerGone: callerGone.promise }
}

/** All that a connection brings until it closes. */
async function wholeOf(client: Socket): Promise<Buffer> {
  const parts: Buffer[] = []
  client.on('data', (part: Buffer) => parts.push(part))
  await once(client, 'close')
  return Buffer.concat(parts)
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

it('requests a WebSocket with the headers for the service, and passes on what comes at once', async () => {
  const message = frame('early')
  let got = ''
  const { client } = await front(
    (socket, request) => {
      got = request
      socket.write(`${switching}first`)
      socket.on('data', (data) => {
        got += data
      })
    },
    { early: message, path: '/inner?a', headers: ['Host', 'x', 'X-Own', '1'] },
  )
  const [answer] = await once(client, 'data')
  await expect.poll(() => got).toContain(String(message))
  expect(got).toMatch(
    /^GET \/inner\?a HTTP\/1\.1\r\nHost: x\r\nX-Own: 1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n/,
  )
  let text = String(answer)
  client.on('data', (data) => {
    text += data
  })
  await expect.poll(() => text).toMatch(/X-Request-Id: id-1\r\n\r\nfirst$/)
})

describe('an upgrade', () => {
  const stopClock = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const revoked = new RpcError('token_revoked', 'the token is gone')
  /** What ends a WebSocket when its caller loses its access. */
  function watched() {
    const watch = { end: (_cause: RpcError): void => undefined, isOver: false }
    const endWithCaller: Passage['endWithCaller'] = (end) => {
      watch.end = end
      return () => {
        watch.isOver = true
      }
    }
    return { watch, endWithCaller }
  }

  it('that the service does not answer in time ends', async () => {
    stopClock()
    const { watch, endWithCaller } = watched()
    const { client, counts, sockets } = await front(() => undefined, { endWithCaller, limitMs: 60_000 })
    await expect.poll(() => [sockets.size, ...counts()]).toEqual([1, 1, 1])
    vi.advanceTimersByTime(30_000)
    expect(counts()).toEqual([1, 1])
    const answer = wholeOf(client)
    vi.advanceTimersByTime(30_000)
    expect((await answer).length).toBe(0)
    await expect.poll(() => [sockets.size, ...counts(), watch.isOver]).toEqual([0, 0, 0, true])
  })

  it.each([
    ['a WebSocket', switching, / 101 .*later$/s],
    ['a refusal', 'HTTP/1.1 403 No\r\n\r\n', / 403 .*later$/s],
  ])('that the service answers in time with %s may last', async (_, answer, expected) => {
    stopClock()
    let service: Socket | undefined
    const { client, counts } = await front((socket) => {
      service = socket
      socket.write(answer)
    })
    const whole = wholeOf(client)
    await expect.poll(counts).toEqual([1, 0])
    vi.advanceTimersByTime(60_000)
    expect(counts()).toEqual([1, 0])
    service!.end('later')
    await expect
      .poll(() => {
        vi.advanceTimersByTime(500)
        return counts()
      })
      .toEqual([0, 0])
    expect(String(await whole)).toMatch(expected)
  })

  it('of a caller that loses its access before the answer ends at once', async () => {
    const { watch, endWithCaller } = watched()
    const { client, counts, sockets } = await front(() => undefined, { endWithCaller })
    await expect.poll(() => sockets.size).toBe(1)
    const answer = wholeOf(client)
    watch.end(revoked)
    expect((await answer).length).toBe(0)
    await expect.poll(() => [sockets.size, ...counts(), watch.isOver]).toEqual([0, 0, 0, true])
  })

  it('of a caller that loses its access ends with the reason, whatever the other side does', async () => {
    stopClock()
    const { watch, endWithCaller } = watched()
    let got = ''
    const { client, counts, sockets } = await front(
      (socket) => {
        socket.write(switching)
        socket.on('data', (data) => {
          got += data
        })
      },
      { endWithCaller },
    )
    await once(client, 'data')
    const last = once(client, 'data')
    watch.end(revoked)
    const [close] = await last
    expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, 1008])
    expect(String(close.subarray(4))).toBe('token_revoked: the token is gone')
    client.write(frame('after'))
    vi.advanceTimersByTime(1999)
    expect(counts()).toEqual([1, 0])
    vi.advanceTimersByTime(1)
    await expect.poll(() => [sockets.size, ...counts(), watch.isOver]).toEqual([0, 0, 0, true])
    expect(got).toBe('')
  })

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
    [
      'nothing',
      '',
      /^HTTP\/1\.1 502 Bad Gateway\r\nConnection: close\r\nX-Request-Id: id-1\r\nContent-Length: 0\r\n\r\n$/,
    ],
    ['headers without end', `HTTP/1.1 101 X\r\nX: ${'y'.repeat(100_000)}`, /^HTTP\/1\.1 502 /],
    [
      'a refusal',
      'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno',
      /^HTTP\/1\.1 403 No\r\nConnection: close\r\n((?!Length|Policy).)*X-Request-Id: id-1\r\n\r\nno$/s,
    ],
    ['the status 199', 'HTTP/1.1 199 X\r\n\r\n', /^HTTP\/1\.1 502 /],
  ])('to a service that answers %s is refused', async (_, answer, expected) => {
    const { client, running } = await front((socket) => socket.end(answer))
    expect(String(await wholeOf(client))).toMatch(expected)
    await expect.poll(() => running.requests.underWay).toBe(0)
  })

  it('of a sandboxed service is refused in a sandbox', async () => {
    const answer = 'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno'
    const { client } = await front((socket) => socket.end(answer), { sandboxed: true })
    expect(String(await wholeOf(client))).toContain('\r\nContent-Security-Policy: sandbox')
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
