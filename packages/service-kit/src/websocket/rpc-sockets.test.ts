import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { RpcError, rpcPath } from '@selvedge/protocol'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { frame, opcodes, openRaw } from '../../../../tests/harness/raw-websocket.ts'
import { manyTurns } from '../../../../tests/harness/unread.ts'
import type { LoadShedder } from '../http/load-shedder.ts'
import type { CallContext } from '../http/rpc-call.ts'
import { createRpcListener } from '../http/rpc-listener.ts'
import { attach, createHttpServer } from '../http/server.ts'
import { createRpcSockets, type RpcSocketsOptions } from './index.ts'

/** Milliseconds between pings, for tests that move the timers. */
const pingMs = 30_000
const movePings = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })

const ending: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ending.splice(0).reverse()) await end()
})

/** Answers to calls that have not been answered yet, the oldest first. */
type Late = { readonly text: string; readonly context: CallContext; answer(text: string): void }[]

async function serve(options: Partial<RpcSocketsOptions> = {}) {
  const late: Late = []
  const calls: CallContext[] = []
  const dispatcher: RpcSocketsOptions['dispatcher'] = {
    dispatch(text, context) {
      calls.push(context)
      if (text === 'nothing') return undefined
      if (text.startsWith('large')) return 'x'.repeat(1_000_000)
      if (!text.startsWith('late')) return `${text.slice(0, 50)} answered`
      return new Promise((resolve) => late.push({ text, context, answer: resolve }))
    },
    refuse: () => 'refused',
  }
  const shedder: LoadShedder = options.shedder ?? { isBusy: () => false, wasRefused: () => undefined }
  const sockets = createRpcSockets({ dispatcher, shedder, ...options })
  const server: Server = createHttpServer({})
  attach(
    server,
    createRpcListener({
      ...{ dispatcher, sockets, shedder, maxBody: 65_536 },
      guard: { port: undefined, allowedOrigins: [] },
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  ending.push(() => {
    server.close()
    return sockets.close()
  })
  const open = async (headers: Record<string, string> = {}) => {
    const client = new WebSocket(`ws://127.0.0.1:${port}${rpcPath}`, { headers })
    ending.push(() => client.terminate())
    const closed = new Promise<number>((resolve) => client.once('close', resolve))
    const messages: string[] = []
    client.on('message', (data) => messages.push(String(data)))
    client.on('error', () => undefined)
    await once(client, 'open')
    return { client, messages, closed }
  }
  const raw = async () => {
    const opened = await openRaw({ host: '127.0.0.1', port })
    ending.push(() => opened.socket.destroy())
    return opened
  }
  return { port, open, raw, late, calls, sockets, server }
}

type Client = Awaited<ReturnType<Awaited<ReturnType<typeof serve>>['open']>>

/** Resolves when a call is answered: everything that the client sent before it was read. */
async function answerTo({ client, messages }: Client): Promise<void> {
  const before = messages.length
  client.send('a call')
  await expect.poll(() => messages.length).toBeGreaterThan(before)
}

/** The HTTP status of a handshake that is refused. */
async function refusalOf(port: number, headers: Record<string, string> = {}): Promise<number> {
  const client = new WebSocket(`ws://127.0.0.1:${port}${rpcPath}`, { headers })
  client.on('error', () => undefined)
  const [, response] = await once(client, 'unexpected-response')
  response.resume()
  client.terminate()
  return response.statusCode
}

describe('calls', () => {
  it('are answered when they are done, in any order', async () => {
    const { open, late } = await serve()
    const { client, messages } = await open()
    client.send('late 1')
    client.send('two')
    await expect.poll(() => messages).toEqual(['two answered'])
    late[0]!.answer('one answered')
    await expect.poll(() => messages).toEqual(['two answered', 'one answered'])
  })

  it('without an answer, such as a batch of notifications, get no message', async () => {
    const { open } = await serve()
    const { client, messages } = await open()
    client.send('nothing')
    client.send('a call')
    await expect.poll(() => messages).toEqual(['a call answered'])
  })

  it('have the headers of the handshake as their context, and their connection', async () => {
    const { open, calls } = await serve()
    const { client, messages } = await open({ Authorization: 'Bearer abc', DPoP: 'a proof' })
    client.send('a call')
    client.send('another call')
    await expect.poll(() => messages).toHaveLength(2)
    expect(calls[0]).toMatchObject({
      authorization: 'Bearer abc',
      dpop: 'a proof',
      method: 'GET',
      path: rpcPath,
    })
    expect(calls[0]!.connection).toBeDefined()
    expect(calls[1]!.connection).toBe(calls[0]!.connection)
    expect(calls[1]).not.toBe(calls[0])
  })

  it('wait while too many of their connection are under way', async () => {
    const { open, late } = await serve({ limits: { callsUnderWay: 3 } })
    const { client, messages } = await open()
    const other = await open()
    for (let at = 0; at < 10; at++) client.send(`late ${at}`)
    await expect.poll(() => late).toHaveLength(3)
    other.client.send('a call of another connection')
    await expect.poll(() => other.messages).toHaveLength(1)
    expect(late).toHaveLength(3)
    for (let at = 0; at < 10; at++) {
      await expect.poll(() => late.length).toBeGreaterThan(at)
      late[at]!.answer(`${at} answered`)
    }
    await expect.poll(() => messages).toHaveLength(10)
    client.send('another call')
    await expect.poll(() => messages).toHaveLength(11)
  })

  it('end their connection if more of them wait than it may have', async () => {
    const { open, late } = await serve({ limits: { callsUnderWay: 1, waitingMessages: 10 } })
    const { client, closed } = await open()
    for (let at = 0; at < 100; at++) client.send(`late ${at}`)
    expect(await closed).toBe(1013)
    expect(late).toHaveLength(1)
  })

  it('of one connection let others in between, also if they come all at once', async () => {
    const { open, calls } = await serve()
    const [many, one] = [await open(), await open()]
    for (let at = 0; at < 2000; at++) many.client.send('x')
    one.client.send('the call of another connection')
    await expect.poll(() => one.messages).toHaveLength(1)
    await expect.poll(() => many.messages).toHaveLength(2000)
    const at = calls.findIndex(({ connection }) => connection !== calls[0]!.connection)
    expect(at).toBeLessThan(1990)
  })

  it('that are refused in an overload let the connection rest', async () => {
    const rested: unknown[] = []
    const shedder: LoadShedder = { isBusy: () => false, wasRefused: (socket) => rested.push(socket) }
    const { port } = await serve({
      shedder,
      dispatcher: {
        dispatch: (_text, context) => {
          context.isBusy = true
          return 'busy'
        },
        refuse: () => '',
      },
    })
    const client = new WebSocket(`ws://127.0.0.1:${port}${rpcPath}`)
    ending.push(() => client.terminate())
    await once(client, 'open')
    client.send('a call')
    await once(client, 'message')
    expect(rested).toHaveLength(1)
  })
})

describe('a client that does not read', () => {
  it('is not read any more, and holds a bounded number of bytes', async () => {
    const { raw, open, calls } = await serve({ limits: { unsentBytes: 100_000 } })
    const { socket } = await raw()
    socket.pause()
    for (let at = 0; at < 100; at++) socket.write(frame('large'))
    const other = await open()
    await expect.poll(() => calls[0]?.connection?.unsentBytes ?? 0).toBeGreaterThan(100_000)
    await manyTurns()
    expect(calls[0]!.connection!.unsentBytes).toBeLessThan(2_200_000)
    expect(calls.length).toBeLessThan(40)
    other.client.send('a call')
    await expect.poll(() => other.messages).toEqual(['a call answered'])
    socket.resume()
    await expect.poll(() => calls.length).toBe(101)
  })

  it('is disconnected', async () => {
    const { raw, calls } = await serve({ limits: { pingMs: 100 } })
    const { socket } = await raw()
    socket.pause()
    for (let at = 0; at < 50; at++) socket.write(frame('large'))
    let isEnded = false
    await expect.poll(() => calls.length).toBeGreaterThan(0)
    calls[0]!.connection!.onEnd(() => {
      isEnded = true
    })
    // It still sends, as a hostile client would.
    const timer = setInterval(() => socket.write(frame('', { opcode: opcodes.pong })), 20)
    ending.push(() => clearInterval(timer))
    await expect.poll(() => isEnded).toBe(true)
  })

  it('gets no more notifications than its limit', async () => {
    const { raw, calls } = await serve({ limits: { unsentNotificationBytes: 50_000 } })
    const { socket, send } = await raw()
    send(frame('a call'))
    await expect.poll(() => calls).toHaveLength(1)
    socket.pause()
    const { connection } = calls[0]!
    const text = 'n'.repeat(10_000)
    let sent = 0
    while (connection!.send(text) && sent < 100_000) {
      sent++
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(connection!.unsentBytes).toBeLessThan(70_000)
    expect(connection!.send(text)).toBe(false)
    socket.resume()
    await expect.poll(() => connection!.send(text)).toBe(true)
  })
})

describe('a ping', () => {
  it('is answered by a live client, which stays connected', async () => {
    movePings()
    const { open } = await serve({ limits: { pingMs } })
    const one = await open()
    for (let round = 0; round < 3; round++) {
      const pinged = once(one.client, 'ping')
      vi.advanceTimersByTime(pingMs)
      await pinged
      await answerTo(one)
    }
  })

  it('that a client does not answer ends the connection', async () => {
    movePings()
    const { raw } = await serve({ limits: { pingMs } })
    const { next, socket } = await raw()
    vi.advanceTimersByTime(pingMs)
    expect((await next())?.opcode).toBe(opcodes.ping)
    const closed = once(socket, 'close')
    vi.advanceTimersByTime(pingMs)
    await closed
  })

  it('does not end a connection with a call under way that lasts long', async () => {
    movePings()
    const { open, late } = await serve({ limits: { pingMs, callsUnderWay: 1 } })
    const one = await open()
    const other = await open()
    one.client.send('late')
    await expect.poll(() => late).toHaveLength(1)
    // The connection is not read from here on.
    one.client.send('late as well')
    for (let round = 0; round < 3; round++) {
      const pinged = once(other.client, 'ping')
      vi.advanceTimersByTime(pingMs)
      await pinged
      await answerTo(other)
    }
    late[0]!.answer('answered')
    await expect.poll(() => late).toHaveLength(2)
    late[1]!.answer('answered')
    await expect.poll(() => one.messages).toHaveLength(2)
    for (let round = 0; round < 2; round++) {
      const pinged = [once(one.client, 'ping'), once(other.client, 'ping')]
      vi.advanceTimersByTime(pingMs)
      await Promise.all(pinged)
      await answerTo(one)
      await answerTo(other)
    }
  })
})

describe('an incomplete message', () => {
  it('ends the connection when it does not arrive in time', async () => {
    movePings()
    const { raw } = await serve({ limits: { pingMs } })
    const { send, next } = await raw()
    send(frame('a', { fin: false }))
    // It shows that it lives, each time, and its ping is answered after its message was read.
    for (let round = 0; ; round++) {
      send(frame('', { opcode: opcodes.pong }), frame('', { opcode: opcodes.ping }))
      let last = await next()
      while (last?.opcode === opcodes.ping) last = await next()
      if (last?.opcode === opcodes.close) {
        expect([round, last.content.readUInt16BE(0)]).toEqual([2, 1008])
        return
      }
      expect(last?.opcode).toBe(opcodes.pong)
      vi.advanceTimersByTime(pingMs)
    }
  })

  it('of large size ends if another one arrives, and there are too many', async () => {
    const { raw, open } = await serve({ limits: { largeMessages: 3 } })
    const half = frame('x'.repeat(100_000), { fin: false })
    const three = [await raw(), await raw(), await raw()]
    for (const { send } of three) send(half)
    const small = await open()
    small.client.send('a call')
    await expect.poll(() => small.messages).toHaveLength(1)
    const fourth = await raw()
    fourth.send(frame('x'.repeat(100_000)))
    expect((await fourth.next())?.opcode).toBe(opcodes.text)
    expect(await three[0]!.closed()).toBe(1013)
    three[1]!.send(frame('', { opcode: opcodes.continuation }))
    expect((await three[1]!.next())?.opcode).toBe(opcodes.text)
  })

  it('of large size of a client with a token stays: another one is refused', async () => {
    const { raw, calls } = await serve({ limits: { largeMessages: 1 } })
    const first = await raw()
    first.send(frame('a call'))
    expect((await first.next())?.opcode).toBe(opcodes.text)
    calls[0]!.connection!.setCaller('a caller')
    first.send(frame('x'.repeat(100_000), { fin: false }))
    const second = await raw()
    await expect.poll(() => calls[0]!.connection).toMatchObject({ isReceivingLarge: true })
    second.send(frame('x'.repeat(100_000), { fin: false }))
    expect(await second.closed()).toBe(1013)
    first.send(frame('', { opcode: opcodes.continuation }))
    expect((await first.next())?.opcode).toBe(opcodes.text)
  })

  it('that was only pings does not count', async () => {
    const { raw } = await serve({ limits: { largeMessages: 1 } })
    const first = await raw()
    first.send(...Array.from({ length: 2000 }, () => frame('p'.repeat(100), { opcode: opcodes.pong })))
    first.send(frame('a call'))
    expect((await first.next())?.opcode).toBe(opcodes.text)
    first.send(...Array.from({ length: 2000 }, () => frame('p'.repeat(100), { opcode: opcodes.pong })))
    first.send(frame('', { opcode: opcodes.ping }))
    expect((await first.next())?.opcode).toBe(opcodes.pong)
    const second = await raw()
    second.send(frame('x'.repeat(100_000)))
    expect((await second.next())?.opcode).toBe(opcodes.text)
    first.send(frame('a call'))
    expect((await first.next())?.opcode).toBe(opcodes.text)
  })
})

describe('large messages', () => {
  const large = frame('x'.repeat(100_000))

  it('are limited until they are parsed, over all connections', async () => {
    const turns: (() => void)[] = []
    const { raw, calls } = await serve({ limits: { largeMessages: 5 }, oneATurn: (turn) => turns.push(turn) })
    const many = await Promise.all(Array.from({ length: 4 }, raw))
    for (const { send } of many) send(...Array.from({ length: 3 }, () => large))
    const codes = await Promise.race(many.map(({ closed }) => closed()))
    expect(codes).toBe(1013)
    await manyTurns()
    expect(turns.length).toBeLessThanOrEqual(5)
    for (const turn of turns.splice(0)) turn()
    const later = await raw()
    later.send(large)
    await expect.poll(() => turns).toHaveLength(1)
    const before = calls.length
    turns[0]!()
    expect(calls).toHaveLength(before + 1)
    expect((await later.next())?.opcode).toBe(opcodes.text)
  })

  it('count until their call is answered, also when their client has gone', async () => {
    const { raw, late } = await serve({ limits: { largeMessages: 1 } })
    const first = await raw()
    first.send(frame('late'.padEnd(100_000)))
    await expect.poll(() => late).toHaveLength(1)
    first.socket.destroy()
    const second = await raw()
    second.send(large)
    expect(await second.closed()).toBe(1013)
    late[0]!.answer('answered')
    await manyTurns()
    const third = await raw()
    third.send(large)
    expect((await third.next())?.opcode).toBe(opcodes.text)
  })

  it('with a call that fails count no more', async () => {
    const dispatcher: RpcSocketsOptions['dispatcher'] = {
      dispatch(text) {
        if (text.startsWith('throws')) throw new Error('of a method')
        if (text.startsWith('rejects')) return Promise.reject(new Error('of a method'))
        return 'answered'
      },
      refuse: () => '',
    }
    const { raw } = await serve({ limits: { largeMessages: 1 }, dispatcher })
    for (const how of ['throws', 'rejects']) {
      const { send, socket } = await raw()
      send(frame(how.padEnd(100_000)))
      await once(socket, 'close')
    }
    const { send, next } = await raw()
    send(large)
    expect((await next())?.opcode).toBe(opcodes.text)
  })
})

describe('unauthenticated connections', () => {
  it('are limited: the one that was unused for the longest time ends', async () => {
    const { open } = await serve({ limits: { unauthenticated: 3 } })
    const [first, second, third] = [await open(), await open(), await open()]
    first.client.send('a call')
    await expect.poll(() => first.messages).toHaveLength(1)
    const fourth = await open()
    expect(await second.closed).toBe(1013)
    for (const { client, messages } of [first, third, fourth]) {
      const before = messages.length
      client.send('a call')
      await expect.poll(() => messages).toHaveLength(before + 1)
    }
  })

  it('with a call under way end last, and lock no further one out', async () => {
    const { open, late } = await serve({ limits: { unauthenticated: 3 } })
    const [first, second, idle] = [await open(), await open(), await open()]
    for (const { client } of [first, second]) client.send('late')
    await expect.poll(() => late).toHaveLength(2)
    const fourth = await open()
    expect(await idle.closed).toBe(1013)
    fourth.client.send('late')
    await expect.poll(() => late).toHaveLength(3)
    await open()
    expect(await first.closed).toBe(1013)
    late[0]!.answer('too late')
    late[1]!.answer('answered')
    await expect.poll(() => second.messages).toEqual(['answered'])
  })

  it('do not count when a token was proved, and count again when it is not valid any more', async () => {
    const { open, calls } = await serve({ limits: { unauthenticated: 2 } })
    const three = []
    for (let at = 0; at < 3; at++) {
      const each = await open()
      each.client.send('a call')
      await expect.poll(() => calls).toHaveLength(at + 1)
      calls[at]!.connection!.setCaller(`caller ${at}`)
      three.push(each)
    }
    const others = [await open(), await open()]
    calls[1]!.connection!.setCaller(undefined)
    expect(await others[0]!.closed).toBe(1013)
    await open()
    expect(await others[1]!.closed).toBe(1013)
    await open()
    expect(await three[1]!.closed).toBe(1013)
    for (const { client } of [three[0]!, three[2]!]) expect(client.readyState).toBe(client.OPEN)
  })

  it('are also those of a caller that has too many: it locks no other one out', async () => {
    const { open, calls } = await serve({ limits: { connections: 5, ofCaller: 2 } })
    const many: Awaited<ReturnType<typeof open>>[] = []
    const openAs = async (caller: string) => {
      const each = await open()
      each.client.send('a call')
      await expect.poll(() => each.messages).toHaveLength(1)
      calls.at(-1)!.connection!.setCaller(caller)
      return each
    }
    for (let at = 0; at < 5; at++) many.push(await openAs('one'))
    const other = await openAs('another')
    expect(await many[2]!.closed).toBe(1013)
    await open()
    expect(await many[3]!.closed).toBe(1013)
    for (const { client } of [many[0]!, many[1]!, other]) expect(client.readyState).toBe(client.OPEN)
    many[0]!.client.close()
    await many[0]!.closed
    await openAs('one')
    await open()
    expect(await many[4]!.closed).toBe(1013)
  })

  it('and authenticated ones together have a limit as well', async () => {
    const { port, open, calls } = await serve({ limits: { connections: 2 } })
    for (let at = 0; at < 2; at++) {
      const { client } = await open()
      client.send('a call')
      await expect.poll(() => calls).toHaveLength(at + 1)
      calls[at]!.connection!.setCaller(`caller ${at}`)
    }
    expect(await refusalOf(port)).toBe(503)
  })
})

describe('a handshake', () => {
  it('is refused with the reason when the API key is wrong', async () => {
    const expectKey = (authorization: string | undefined) => {
      if (authorization !== 'Bearer key') throw new RpcError('api_key_invalid', 'the API key is wrong')
    }
    const { port, open } = await serve({ expectKey })
    expect(await refusalOf(port)).toBe(401)
    expect(await refusalOf(port, { Authorization: 'Bearer other' })).toBe(401)
    await open({ Authorization: 'Bearer key' })
  })

  it('is refused while the daemon is about to stop, and in an overload', async () => {
    let isDraining = false
    let isBusy = false
    const shedder: LoadShedder = { isBusy: () => isBusy, wasRefused: () => undefined }
    const { port, open } = await serve({ isDraining: () => isDraining, shedder })
    await open()
    isDraining = true
    expect(await refusalOf(port)).toBe(503)
    isDraining = false
    isBusy = true
    expect(await refusalOf(port)).toBe(503)
  })

  it('that is refused ends the connection, also of a client that does not close it', async () => {
    const { port, server } = await serve()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const connection = once(server, 'connection')
    const { socket, status } = await openRaw(
      { host: '127.0.0.1', port, allowHalfOpen: true },
      { path: '/another/path' },
    )
    ending.push(() => socket.destroy())
    expect(status).toBe(404)
    const [own] = (await connection) as [Socket]
    const closed = once(own, 'close')
    vi.advanceTimersByTime(2000)
    await closed
    expect(socket.destroyed).toBe(false)
  })

  it('gets a new DPoP nonce if it has a proof', async () => {
    const { port } = await serve({ nonce: () => 'a-nonce' })
    const lines = (proof: readonly string[]) => (host: string) => [
      ...[`Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
      ...['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', ...proof],
    ]
    for (const proof of [[], ['DPoP: a proof']]) {
      const { head, socket } = await openRaw({ host: '127.0.0.1', port }, { lines: lines(proof) })
      expect(head.includes('DPoP-Nonce: a-nonce')).toBe(proof.length > 0)
      socket.destroy()
    }
  })
})

describe('a connection', () => {
  it('calls back once at its end, also late callbacks, and no callback that was removed', async () => {
    const { open, calls } = await serve()
    const { client } = await open()
    client.send('a call')
    await expect.poll(() => calls).toHaveLength(1)
    const { connection } = calls[0]!
    const ends: string[] = []
    connection!.onEnd(() => {
      ends.push('first')
      throw new Error('of a callback')
    })
    connection!.onEnd(() => ends.push('second'))
    connection!.onEnd(() => ends.push('removed'))()
    client.close()
    await expect.poll(() => ends).toEqual(['first', 'second'])
    expect(connection!.send('a notification')).toBe(false)
    connection!.onEnd(() => ends.push('late'))
    await expect.poll(() => ends).toEqual(['first', 'second', 'late'])
  })

  it('that ends in the middle of a call drops the answer', async () => {
    const { open, late, calls } = await serve()
    const { client } = await open()
    client.send('late')
    await expect.poll(() => late).toHaveLength(1)
    let isEnded = false
    calls[0]!.connection!.onEnd(() => {
      isEnded = true
    })
    client.terminate()
    await expect.poll(() => isEnded).toBe(true)
    late[0]!.answer('answered')
    const other = await open()
    other.client.send('a call')
    await expect.poll(() => other.messages).toEqual(['a call answered'])
  })

  it('ends when the daemon stops: at once, or after the answers to its calls', async () => {
    const { open, late, sockets } = await serve()
    const [idle, busy] = [await open(), await open()]
    busy.client.send('late')
    await expect.poll(() => late).toHaveLength(1)
    const stopped = sockets.close()
    expect(await idle.closed).toBe(1001)
    expect(busy.client.readyState).toBe(busy.client.OPEN)
    late[0]!.answer('answered')
    expect(await busy.closed).toBe(1001)
    expect(busy.messages).toEqual(['answered'])
    await stopped
  })

  it('ends when the daemon stops, also with a call that never ends and a client that never closes', async () => {
    const { open, raw, sockets, late } = await serve({ limits: { closeMs: 50 } })
    const { client, closed } = await open()
    client.send('late')
    await expect.poll(() => late).toHaveLength(1)
    await raw()
    await sockets.close()
    expect(await closed).toBe(1006)
  })
})
