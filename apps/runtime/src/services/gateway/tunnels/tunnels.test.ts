/** Connections of a function through the runtime, with frames as its program sends them. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNetwork } from '@selvedge/client/node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ConnectProxyOptions, startConnectProxy } from '../../../../../../tests/harness/connect-proxy.ts'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { opens, writeUntilFull } from '../../../../../../tests/harness/unread.ts'
import { createFrameReader, encodeFrame, type Frame } from '../../engines/function/frames.ts'
import { createTunnels, type TunnelParts, type Tunnels, tunnelLimits } from './tunnels.ts'

let folder: string
let path: string
let closing: (() => void)[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-tunnel-'))
  path = join(folder, 'host')
  closing = []
})
afterEach(() => {
  for (const close of closing) close()
  rmSync(folder, { recursive: true })
})

/** The socket of an instance. */
async function serve(parts: Partial<TunnelParts> = {}): Promise<Tunnels> {
  const tunnels = createTunnels({ outbound: [], isOwnUrl: () => false, network: directNetwork, ...parts })
  const server = createHttpServer()
  server.on('connect', tunnels.open)
  server.listen(path)
  await once(server, 'listening')
  closing.push(() => {
    tunnels.close()
    server.closeAllConnections()
    server.close()
  })
  return tunnels
}

/** A server of the outside. @returns `host:port` */
async function outside(onSocket: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    closing.push(() => socket.destroy())
    onSocket(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Line {
  readonly socket: Socket
  /** The answer to the request, up to its empty line. */
  readonly answer: string
  /** Frames as they come. */
  next(): Promise<Frame | undefined>
}

async function open(target: string, more = ''): Promise<Line> {
  const socket = connect({ path, allowHalfOpen: true })
  socket.on('error', () => undefined)
  closing.push(() => socket.destroy())
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n${more}`)
  let text = ''
  while (!text.includes('\r\n\r\n')) {
    const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [])])) as [
      Buffer?,
    ]
    if (!chunk) break
    text += chunk.toString('latin1')
  }
  const end = text.indexOf('\r\n\r\n') + 4
  socket.pause()
  if (text.length > end) socket.unshift(Buffer.from(text.slice(end), 'latin1'))
  const read = createFrameReader(1_000_000)
  const frames: Frame[] = []
  const bytes = socket[Symbol.asyncIterator]()
  const next = async (): Promise<Frame | undefined> => {
    while (frames.length === 0) {
      const { value, done } = await bytes.next().catch(() => ({ value: undefined, done: true }))
      if (done) return undefined
      frames.push(...read(value as Buffer))
    }
    return frames.shift()
  }
  return { socket, answer: text.slice(0, end), next }
}

const data = (text: string) => encodeFrame('bytes', Buffer.from(text))
const endOfData = encodeFrame('bytes', new Uint8Array())
const textOf = (frame: Frame | undefined) => frame && `${frame.kind} ${Buffer.from(frame.payload).toString()}`

describe('an open connection', () => {
  it('carries bytes both ways, also those behind the request', async () => {
    const host = await outside((socket) => socket.on('data', (chunk) => socket.write(`got ${chunk}`)))
    await serve({ outbound: [host] })
    const line = await open(host, Buffer.from(data('first')).toString('latin1'))
    expect(line.answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(textOf(await line.next())).toBe('bytes got first')
    line.socket.write(data('second'))
    expect(textOf(await line.next())).toBe('bytes got second')
  })

  it('stays open in one direction when the function ends the other', async () => {
    const host = await outside((socket) => {
      socket.on('end', () => {
        socket.write('after the end')
        socket.end()
      })
      socket.resume()
    })
    await serve({ outbound: [host] })
    const line = await open(host)
    line.socket.write(endOfData)
    expect(textOf(await line.next())).toBe('bytes after the end')
    expect(textOf(await line.next())).toBe('bytes ')
    expect(await line.next()).toBeUndefined()
  })

  it('stays open in one direction when the other side ends', async () => {
    let got = ''
    const endSeen = Promise.withResolvers<void>()
    const host = await outside((socket) => {
      socket.end('bye')
      socket.on('data', (chunk) => {
        got += chunk
      })
      socket.on('end', endSeen.resolve)
    })
    await serve({ outbound: [host] })
    const line = await open(host)
    expect(textOf(await line.next())).toBe('bytes bye')
    expect(textOf(await line.next())).toBe('bytes ')
    line.socket.write(data('still '))
    line.socket.write(data('here'))
    line.socket.write(endOfData)
    await endSeen.promise
    expect(got).toBe('still here')
  })

  it('names the error that broke it, so that it is no end', async () => {
    const host = await outside((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await serve({ outbound: [host] })
    const line = await open(host)
    line.socket.write(data('x'))
    expect(textOf(await line.next())).toBe('message ECONNRESET')
    expect(await line.next()).toBeUndefined()
  })

  it('brings what the function wrote before it closed', async () => {
    const got = Promise.withResolvers<string>()
    const host = await outside((socket) => {
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('end', () => got.resolve(text))
    })
    await serve({ outbound: [host] })
    const line = await open(host)
    line.socket.write(data('last words'))
    line.socket.destroySoon()
    expect(await got.promise).toBe('last words')
  })

  it('ends when nothing is sent for the idle time', async () => {
    const host = await outside((socket) => socket.resume())
    await serve({ outbound: [host], limits: { ...tunnelLimits, idleMs: 50 } })
    const line = await open(host)
    expect(textOf(await line.next())).toBe('message ETIMEDOUT')
  })

  it.each([
    ['a frame of another kind', encodeFrame('message', Buffer.from('{}'))],
    ['a frame of an unknown kind', Buffer.from([0, 0, 0, 0, 9])],
    ['a frame that is too large', Buffer.from([255, 255, 255, 255, 1])],
    ['bytes after their end', Buffer.concat([endOfData, data('x')])],
  ])('is closed at %s', async (_, bytes) => {
    const closed = Promise.withResolvers<void>()
    const host = await outside((socket) => socket.on('end', () => closed.resolve()).resume())
    await serve({ outbound: [host] })
    const line = await open(host)
    line.socket.write(bytes)
    expect(await line.next()).toBeUndefined()
    await closed.promise
  })
})

describe('a reader that never reads', () => {
  it(
    'of the function does not fill the runtime',
    opens(
      'apps/runtime/src/services/gateway/tunnels/relay.ts',
      'apps/runtime/src/services/gateway/tunnels/tunnels.ts',
    ),
    async () => {
      const accepted = Promise.withResolvers<number>()
      const host = await outside((socket) => accepted.resolve(writeUntilFull(socket)))
      await serve({ outbound: [host] })
      const line = await open(host)
      line.socket.pause()
      expect(await accepted.promise).toBeLessThan(50_000_000)
    },
  )

  it(
    'on the other side does not fill it either',
    opens(
      'apps/runtime/src/services/gateway/tunnels/relay.ts',
      'apps/runtime/src/services/gateway/tunnels/tunnels.ts',
    ),
    async () => {
      const host = await outside((socket) => socket.pause())
      await serve({ outbound: [host] })
      const line = await open(host)
      let accepted = 0
      const piece = encodeFrame('bytes', new Uint8Array(65_536))
      const fill = () => {
        do accepted += piece.length
        while (line.socket.write(piece) && accepted < 200_000_000)
      }
      line.socket.on('drain', fill)
      fill()
      for (let last = -1; last !== accepted; ) {
        last = accepted
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      expect(accepted).toBeLessThan(50_000_000)
    },
  )
})

it('a function that closes while the other side reads nothing leaves nothing behind', async () => {
  const host = await outside((socket) => socket.pause())
  const limits = { ...tunnelLimits, connections: 1, probeMs: 20, refuseAfterMs: 1 }
  await serve({ outbound: [host], limits })
  const { socket } = await open(host)
  const piece = encodeFrame('bytes', new Uint8Array(65_536))
  while (socket.write(piece) || socket.writableLength < 20_000_000);
  await expect.poll(async () => (await open(host)).answer).toContain('EMFILE')
  socket.destroy()
  await expect.poll(async () => (await open(host)).answer.slice(9, 12)).toBe('200')
})

describe('a connection is refused', () => {
  it('to what is not listed', async () => {
    const host = await outside(() => expect.unreachable())
    await serve({ outbound: ['other.example:1'] })
    expect((await open(host)).answer).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*X-Selvedge-Error: EACCES\r\nX-Selvedge-Refused: 127\.0\.0\.1:\d+ is not listed in MCM\.OUTBOUND/,
    )
  })

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:127.0.0.1',
    'fd00::1',
    '64:ff9b::7f00:1',
  ])('to a name that leads to %s', async (address) => {
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return [{ address, family: address.includes(':') ? 6 : 4 }]
    }
    await serve({ outbound: ['inner.example:502'], resolve })
    const { answer } = await open('inner.example:502')
    expect(answer).toContain('X-Selvedge-Error: EACCES')
    expect(answer).toContain('which is not public; list the address itself if it is meant')
    // There is no second answer that could lead elsewhere.
    expect(asked).toEqual(['inner.example'])
  })

  it('with the code of the system where nothing listens, and no address', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    await serve({ outbound: [`127.0.0.1:${port}`] })
    expect((await open(`127.0.0.1:${port}`)).answer).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*X-Selvedge-Error: ECONNREFUSED\r\nX-Selvedge-Refused: \r\n/,
    )
  })

  it('when the name server does not answer in time', async () => {
    const resolve = () => new Promise<never>(() => undefined)
    await serve({ outbound: ['slow.example:1'], resolve, limits: { ...tunnelLimits, openMs: 50 } })
    expect((await open('slow.example:1')).answer).toContain('X-Selvedge-Error: ETIMEDOUT')
  })

  it('beyond the limit of an instance, until one is closed', async () => {
    const host = await outside((socket) => socket.resume())
    await serve({ outbound: [host], limits: { ...tunnelLimits, connections: 2, refuseAfterMs: 1 } })
    const [first] = await Promise.all([open(host), open(host)])
    expect((await open(host)).answer).toMatch(/X-Selvedge-Error: EMFILE[\s\S]*has 2 connections, the limit/)
    first!.socket.destroy()
    await expect.poll(async () => (await open(host)).answer.slice(9, 12)).toBe('200')
  })
})

it('a function that gives up before its connection is open leaves nothing behind', async () => {
  const resolve = () => new Promise<never>(() => undefined)
  const limits = { ...tunnelLimits, connections: 1, refuseAfterMs: 1 }
  const host = await outside((socket) => socket.resume())
  await serve({ outbound: ['slow.example:1', host], resolve, limits })
  const socket = connect(path)
  socket.write('CONNECT slow.example:1 HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'connect')
  await expect.poll(async () => (await open(host)).answer).toContain('EMFILE')
  socket.destroy()
  await expect.poll(async () => (await open(host)).answer.slice(9, 12)).toBe('200')
})

describe('through a proxy', () => {
  /** A proxy that leads each host to a server of the outside. */
  async function through(upstream: string, more: Partial<ConnectProxyOptions> = {}) {
    const proxy = await startConnectProxy({ portOf: () => Number(upstream.split(':')[1]), ...more })
    closing.push(() => proxy.close())
    return { proxy, network: createNetwork({ proxy: proxy.url, env: {} }) }
  }
  const resolve = async () => [{ address: '93.184.215.14', family: 4 }]

  it('a host is reached, and one direction stays open when the other side ends', async () => {
    let got = ''
    const endSeen = Promise.withResolvers<void>()
    const host = await outside((socket) => {
      socket.end('bye')
      socket.on('data', (chunk) => {
        got += chunk
      })
      socket.on('end', endSeen.resolve)
    })
    const { proxy, network } = await through(host)
    await serve({
      outbound: ['db.example:5432', '93.184.215.14:5432', '[2606:2800::1]:5432'],
      network,
      resolve,
    })
    const line = await open('db.example:5432')
    expect(line.answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(textOf(await line.next())).toBe('bytes bye')
    expect(textOf(await line.next())).toBe('bytes ')
    line.socket.write(data('still here'))
    line.socket.write(endOfData)
    await endSeen.promise
    expect(got).toBe('still here')
    await open('93.184.215.14:5432')
    await open('[2606:2800::1]:5432')
    expect(proxy.opened).toEqual(['db.example:5432', '93.184.215.14:5432', '[2606:2800::1]:5432'])
  })

  it('an address of the own network is reached directly', async () => {
    const host = await outside((socket) => socket.end('hello'))
    const { proxy, network } = await through('127.0.0.1:1')
    await serve({ outbound: [host], network })
    expect(textOf(await (await open(host)).next())).toBe('bytes hello')
    expect(proxy.requested).toEqual([])
  })

  it('a name that leads to refused addresses is not handed to it', async () => {
    const { proxy, network } = await through('127.0.0.1:1')
    const inner = async () => [{ address: '10.0.0.1', family: 4 }]
    await serve({ outbound: ['inner.example:502'], network, resolve: inner })
    expect((await open('inner.example:502')).answer).toMatch(/EACCES[\s\S]*which is not public/)
    expect(proxy.requested).toEqual([])
  })

  it('what it refuses is an error with its sentence', async () => {
    const { network } = await through('127.0.0.1:1', { portOf: () => undefined })
    await serve({ outbound: ['db.example:5432'], network, resolve })
    expect((await open('db.example:5432')).answer).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*X-Selvedge-Error: ECONNRESET\r\n[\s\S]*does not connect to db.example:5432 \(HTTP 403\). Many proxies allow only port 443/,
    )
  })

  it('one that does not answer is given up, and leaves nothing behind', async () => {
    const silent = await outside((socket) => socket.resume())
    const network = createNetwork({ proxy: `http://${silent}`, env: {} })
    const limits = { ...tunnelLimits, connections: 1, openMs: 50, refuseAfterMs: 1 }
    const host = await outside((socket) => socket.resume())
    await serve({ outbound: ['db.example:5432', host], network, resolve, limits })
    expect((await open('db.example:5432')).answer).toContain('X-Selvedge-Error: ETIMEDOUT')
    // Its place is free when the attempt is over.
    expect((await open(host)).answer).toContain('EMFILE')
    for (const close of closing.splice(0, 1)) close()
  })
})

it('all connections close with their instance', async () => {
  const closed = Promise.withResolvers<void>()
  const host = await outside((socket) => socket.on('end', () => closed.resolve()).resume())
  const tunnels = await serve({ outbound: [host] })
  const line = await open(host)
  tunnels.close()
  expect(await line.next()).toBeUndefined()
  await closed.promise
})
