/** A TCP port on the loopback, with hostile clients and hostile containers. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import type { TcpUpstream } from '../engines/engine.ts'
import { createRoom, type OpenPort } from './destination.ts'
import { maxConnections, openTcpPort } from './tcp-port.ts'

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

let at = 0
const room = (max = 10_000) => createRoom(max)

async function container(serve: (socket: Socket) => void): Promise<TcpUpstream> {
  const sockets = new Set<Socket>()
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.close()
    for (const each of sockets) each.destroy()
  })
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

async function open(
  upstream: TcpUpstream | (() => Promise<TcpUpstream>),
  max = 10_000,
  used: () => void = () => undefined,
): Promise<OpenPort> {
  const find = async () => ({
    upstream: typeof upstream === 'function' ? await upstream() : upstream,
    instance: {},
    used,
  })
  const hosts = [{ host: '127.0.0.1', isOptional: false }]
  const port = await openTcpPort({ hosts, port: 0, find, now: () => at, room: room(max) })
  ends.push(port.close)
  return port
}

function call({ port }: OpenPort, allowHalfOpen = false): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen })
  socket.on('error', () => undefined)
  ends.push(() => socket.destroy())
  return socket
}

/** Resolves when a connection is closed: its reader has to reach its end. */
async function closed(socket: Socket): Promise<void> {
  socket.resume()
  // A reset is an error before that.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
}

async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket.setEncoding('utf8')) text += chunk
  return text
}

const echo = (socket: Socket) => void socket.pipe(socket)

describe('a TCP port', () => {
  it('passes bytes in both directions, and the ends of both, each by itself', async () => {
    let heard = ''
    const port = await open(
      await container((socket) => {
        socket.setEncoding('utf8').on('data', (text) => {
          heard += text
        })
        // It answers after the client has closed its half.
        socket.on('end', () => socket.end(`heard ${heard}`))
      }),
    )
    const client = call(port)
    client.end('hello')
    expect(await textOf(client)).toBe('heard hello')
  })

  it('passes on what a client sends after the container has closed its half', async () => {
    const heard = Promise.withResolvers<string>()
    const port = await open(
      await container((socket) => {
        socket.end('first')
        textOf(socket).then(heard.resolve)
      }),
    )
    const client = call(port, true)
    expect(await textOf(client)).toBe('first')
    client.end('x'.repeat(1_000_000))
    expect(await heard.promise).toHaveLength(1_000_000)
  })

  it('passes megabytes unchanged', async () => {
    const port = await open(await container(echo))
    const client = call(port)
    const sent = 'abcdefgh'.repeat(1_000_000)
    client.end(sent)
    expect((await textOf(client)) === sent).toBe(true)
  })

  it('closes a connection if the container does not listen, is not there, or resets it', async () => {
    const gone = await container(() => undefined)
    await ends.pop()!()
    const resetting = await container((socket) => socket.resetAndDestroy())
    for (const upstream of [gone, () => Promise.reject(new Error('it is stopped')), resetting]) {
      const client = call(await open(upstream as TcpUpstream))
      await closed(client)
    }
  })

  it('ends the side of the container when the client resets', async () => {
    const atEnd = Promise.withResolvers<void>()
    const port = await open(
      await container((socket) => void socket.resume().on('close', () => atEnd.resolve())),
    )
    const client = call(port)
    client.write('x')
    await once(client, 'connect')
    client.resetAndDestroy()
    await atEnd.promise
  })

  it('is free after it is closed, and its connections end', async () => {
    const upstream = await container(echo)
    const port = await open(upstream)
    const client = call(port)
    client.write('x')
    await once(client, 'data')
    port.close()
    await closed(client)
    const find = async () => ({ upstream, instance: {}, used: () => undefined })
    const hosts = [{ host: '127.0.0.1', isOptional: false }]
    const again = await openTcpPort({ hosts, port: port.port, find, now: () => at, room: room() })
    again.close()
  })

  it('is not opened at all if one of its addresses is in use; an address that the device does not have is left out', async () => {
    const { port } = await open(await container(echo))
    const find = () => Promise.reject(new Error('unused'))
    const parts = { port, find, now: () => at, room: room() }
    const used = { host: '127.0.0.1', isOptional: false }
    await expect(openTcpPort({ ...parts, hosts: [used] })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    const absent = { host: '192.0.2.1', isOptional: true }
    const free = await openTcpPort({ ...parts, port: 0, hosts: [used, absent] })
    free.close()
    await expect(
      openTcpPort({ ...parts, port: 0, hosts: [{ ...absent, isOptional: false }] }),
    ).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
  })

  it('reports each use', async () => {
    let uses = 0
    const port = await open(await container(echo), 10, () => uses++)
    const client = call(port)
    client.write('x')
    await once(client, 'data')
    expect(uses).toBeGreaterThanOrEqual(2)
  })
})

describe('a hostile client of a TCP port', () => {
  it(
    'that never reads makes the container wait',
    opens('apps/runtime/src/services/ports/tcp-port.ts'),
    async () => {
      const written = Promise.withResolvers<number>()
      const port = await open(await container((socket) => writeUntilFull(socket).then(written.resolve)))
      const client = call(port)
      client.pause()
      expect(await written.promise).toBeLessThan(50_000_000)
    },
  )

  it('that never stops sending waits for a container that never reads', async () => {
    const port = await open(await container((socket) => void socket.pause()))
    expect(await writeUntilFull(call(port))).toBeLessThan(50_000_000)
  })

  it(`gets ${maxConnections} connections of a port; more are closed, and room is there again when they end`, async () => {
    let openThere = 0
    const port = await open(
      await container((socket) => {
        openThere++
        socket.on('close', () => openThere--)
        echo(socket)
      }),
    )
    const clients = Array.from({ length: maxConnections }, () => call(port))
    await expect.poll(() => openThere).toBe(maxConnections)
    const late = Array.from({ length: 20 }, () => call(port))
    await Promise.all(late.map(closed))
    expect(openThere).toBe(maxConnections)
    for (const each of clients) each.destroy()
    await expect.poll(() => openThere).toBe(0)
    const again = () => {
      const next = call(port)
      next.end('x')
      return textOf(next)
    }
    await expect.poll(again).toBe('x')
  })

  it('that leaves its connections idle for a minute loses the oldest one to a new client', async () => {
    const port = await open(await container(echo))
    at = 0
    const clients = Array.from({ length: maxConnections }, () => call(port))
    for (const each of clients) each.write('x')
    await Promise.all(clients.map((each) => once(each, 'data')))
    at = 30_000
    // All but the first are in use.
    for (const each of clients.slice(1)) each.write('x')
    await Promise.all(clients.slice(1).map((each) => once(each, 'data')))
    at = 59_999
    await closed(call(port))
    at = 60_000
    const next = call(port)
    next.write('x')
    await Promise.all([once(next, 'data'), closed(clients[0]!)])
    expect(clients.slice(1).every((each) => !each.destroyed)).toBe(true)
  })

  it('gets no more connections than all ports together may have', async () => {
    const port = await open(await container(echo), 2)
    const clients = [call(port), call(port)]
    for (const each of clients) each.write('x')
    await Promise.all(clients.map((each) => once(each, 'data')))
    await closed(call(port))
  })

  it('that opens and closes connections, while no container answers, leaves no connection open', async () => {
    let openThere = 0
    const port = await open(
      await container((socket) => {
        openThere++
        socket.resume().on('close', () => openThere--)
        // It never closes by itself.
      }),
      10,
    )
    for (let round = 0; round < 30; round++) {
      const client = call(port)
      await once(client, 'connect')
      client.resetAndDestroy()
      await sleep(1)
    }
    await expect.poll(() => openThere).toBe(0)
    const next = call(port)
    next.write('x')
    await expect.poll(() => openThere).toBe(1)
  })
})
