/** WebSockets through the gateway, to services that answer strangely and with readers that never read. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { RpcError } from '@selvedge/protocol'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { frame, opcodes } from '../../../../../tests/harness/raw-websocket.ts'
import { manyTurns, opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import { endFronts, front, switching, wholeOf } from '../../../../../tests/harness/upgrade-front.ts'
import { maxMessageBytes } from './client-messages.ts'
import type { Passage } from './passage.ts'
import { maxUnreadMs } from './unread-events.ts'

afterEach(() => {
  vi.useRealTimers()
  endFronts()
})

it('sets no session cookie of the console, and no sandbox, with the answer to a handshake', async () => {
  const setting = switching.replace(
    'Connection',
    'Set-Cookie: selvedge_session=x; Path=/\r\nSet-Cookie: own=\xe9\r\nConnection',
  )
  const { client } = await front((socket) => socket.write(setting, 'latin1'), { sandboxed: true })
  const [head] = await once(client.setEncoding('latin1'), 'data')
  expect(head).toContain('101 Switching Protocols')
  expect(head).toContain('Set-Cookie: own=\xe9')
  expect(head).not.toMatch(/selvedge_session|Content-Security-Policy/)
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
    expect(vi.getTimerCount()).toBe(0)
  })

  it('of a caller that loses its access before the answer ends at once', async () => {
    stopClock()
    const { watch, endWithCaller } = watched()
    const { client, counts, sockets } = await front(() => undefined, { endWithCaller })
    await expect.poll(() => sockets.size).toBe(1)
    const answer = wholeOf(client)
    watch.end(revoked)
    expect((await answer).length).toBe(0)
    await expect.poll(() => [sockets.size, ...counts(), watch.isOver]).toEqual([0, 0, 0, true])
    expect(vi.getTimerCount()).toBe(0)
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
    await manyTurns()
    vi.advanceTimersByTime(1999)
    expect(counts()).toEqual([1, 0])
    vi.advanceTimersByTime(1)
    await expect.poll(() => [sockets.size, ...counts(), watch.isOver]).toEqual([0, 0, 0, true])
    expect(got).toBe('')
  })

  /** Of an upgrade with a client that never reads: connections that are left, and timers. */
  async function neverRead(isOfEvents: boolean) {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    let taken: Promise<number> | undefined
    const fill = (socket: Socket) => {
      socket.write(switching)
      taken = writeUntilFull(socket)
    }
    const { client, counts } = await front(fill, { isOfEvents })
    const timers = vi.getTimerCount()
    client.pause()
    await expect.poll(() => taken).toBeDefined()
    expect(await taken).toBeLessThan(50_000_000)
    vi.advanceTimersByTime(2 * maxUnreadMs)
    return { left: counts()[0], timers: vi.getTimerCount() - timers }
  }

  it(
    'reads the service no faster than a client that never reads',
    opens('apps/runtime/src/services/gateway/upgrade.ts'),
    async () => expect(await neverRead(false)).toEqual({ left: 1, timers: 0 }),
  )

  it('ends a client of events that never reads', async () =>
    expect(await neverRead(true)).toEqual({ left: 0, timers: 0 }))

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
      'HTTP/1.1 403 N\xf6\r\nContent-Length: 2\r\n\r\nno',
      /^HTTP\/1\.1 403 N\xf6\r\nConnection: close\r\n((?!Length|Policy).)*X-Request-Id: id-1\r\n\r\nno$/s,
    ],
    ['the status 199', 'HTTP/1.1 199 X\r\n\r\n', /^HTTP\/1\.1 502 /],
    ['the status 200', 'HTTP/1.1 200\r\n\r\nfine', /^HTTP\/1\.1 200 \r\nConnection: close\r\n.*fine$/s],
    ['the status 1000', 'HTTP/1.1 1000 X\r\n\r\n', /^HTTP\/1\.1 502 /],
    [
      'half a piece',
      'HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\nx',
      /^HTTP\/1\.1 403 (?!.* 502 )/s,
    ],
    ['half a refusal', 'HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nno', /^HTTP\/1\.1 403 (?!.* 502 )/s],
  ])('to a service that answers %s is refused', async (_, answer, expected) => {
    const { client, running } = await front((socket) => socket.end(answer, 'latin1'))
    expect((await wholeOf(client)).toString('latin1')).toMatch(expected)
    await expect.poll(() => running.requests.underWay).toBe(0)
  })

  it.each([
    ['a refusal', 'HTTP/1.1 403 No\r\n\r\nno'],
    ['nothing', ''],
  ])(
    'that the service answers with %s ends soon, also for a client that does not close it',
    async (_, answer) => {
      stopClock()
      const { client, counts } = await front((socket) => socket.end(answer), { limitMs: 60_000 })
      client.allowHalfOpen = true
      await once(client, 'data')
      await manyTurns()
      vi.advanceTimersByTime(2000)
      expect(counts()).toEqual([0, 0])
    },
  )

  it('to a service that ends has a moment for what a slow client has not read', async () => {
    stopClock()
    const [own, client] = duplexPair()
    const ended = Promise.withResolvers<void>()
    const end = (socket: Socket) => {
      socket.end(`${switching}last`)
      socket.once('end', ended.resolve)
    }
    const { counts } = await front(end, { seen: () => own })
    await ended.promise
    await manyTurns()
    vi.advanceTimersByTime(1999)
    expect(counts()).toEqual([1, 0])
    let text = ''
    client.setEncoding('latin1').on('data', (data) => {
      text += data
    })
    await manyTurns()
    expect(text).toMatch(/last$/)
    vi.advanceTimersByTime(1)
    expect(counts()).toEqual([0, 0])
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
    stopClock()
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
