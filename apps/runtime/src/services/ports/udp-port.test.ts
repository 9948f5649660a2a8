/** A UDP port on the loopback, with hostile clients and hostile containers. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import type { TcpUpstream } from '../engines/engine.ts'
import { createRoom, type OpenPort, type Room } from './destination.ts'
import { maxSessions, openUdpPort } from './udp-port.ts'

const ends: (() => unknown)[] = []
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end()
})

async function socketAt(address: string): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  let isClosed = false
  socket.on('close', () => {
    isClosed = true
  })
  ends.push(() => isClosed || socket.close())
  return socket
}

/** Answers each datagram with its text and a suffix. */
async function container(
  suffix = '',
): Promise<{ upstream: TcpUpstream; clients: Set<number>; heard: string[] }> {
  const socket = await socketAt('127.0.0.1')
  const clients = new Set<number>()
  const heard: string[] = []
  socket.on('message', (bytes, { port, address }) => {
    clients.add(port)
    heard.push(bytes.toString())
    socket.send(bytes + suffix, port, address)
  })
  return { upstream: { host: '127.0.0.1', port: socket.address().port }, clients, heard }
}

async function open(
  find: () => Promise<{ upstream: TcpUpstream; instance: object }>,
  room: Room = createRoom(10_000),
): Promise<OpenPort> {
  const port = await openUdpPort({
    hosts: [{ host: '127.0.0.1', isOptional: false }],
    port: 0,
    find: async () => ({ ...(await find()), used: () => undefined }),
    now: () => 0,
    room,
  })
  ends.push(port.close)
  return port
}

/** Sends a text until an answer comes: datagrams may be lost. */
async function ask(client: Socket, { port }: OpenPort, text: string): Promise<string> {
  const answered = once(client, 'message')
  const repeating = setInterval(() => client.send(text, port, '127.0.0.1'), 100)
  client.send(text, port, '127.0.0.1')
  const [bytes] = await answered.finally(() => clearInterval(repeating))
  return String(bytes)
}

describe('a UDP port', () => {
  it('passes datagrams to the container and answers to the client that asked', async () => {
    const { upstream } = await container('!')
    const port = await open(async () => ({ upstream, instance: container }))
    const clients = await Promise.all([socketAt('127.0.0.1'), socketAt('127.0.0.1')])
    const answers = await Promise.all(clients.map((each, at) => ask(each, port, `client ${at}`)))
    expect(answers).toEqual(['client 0!', 'client 1!'])
  })

  it('leads to the new instance as soon as that serves', async () => {
    const [first, second] = [await container(' of one'), await container(' of two')]
    let serving = first
    const port = await open(async () => ({ upstream: serving.upstream, instance: serving }))
    const client = await socketAt('127.0.0.1')
    expect(await ask(client, port, 'a')).toBe('a of one')
    serving = second
    await expect.poll(() => ask(client, port, 'b')).toBe('b of two')
  })

  it('forgets what comes while nothing runs, and works when it runs', async () => {
    const { upstream } = await container()
    let runs = false
    let asked = 0
    const port = await open(async () => {
      asked++
      if (!runs) throw new Error('it is stopped')
      return { upstream, instance: container }
    })
    const client = await socketAt('127.0.0.1')
    client.send('lost', port.port, '127.0.0.1')
    await expect.poll(() => asked).toBe(1)
    runs = true
    expect(await ask(client, port, 'found')).toBe('found')
  })

  it('survives a container that does not listen', async () => {
    const gone = await socketAt('127.0.0.1')
    const upstream = { host: '127.0.0.1', port: gone.address().port }
    gone.close()
    let serving: { upstream: TcpUpstream; instance: object } = { upstream, instance: gone }
    const port = await open(async () => serving)
    const client = await socketAt('127.0.0.1')
    for (let sent = 0; sent < 20; sent++) client.send('x', port.port, '127.0.0.1')
    const there = await container()
    serving = { upstream: there.upstream, instance: there }
    expect(await ask(client, port, 'y')).toMatch(/^[xy]$/)
  })

  it('does not open a port that another program has', async () => {
    const other = await socketAt('127.0.0.1')
    await expect(
      openUdpPort({
        hosts: [{ host: '127.0.0.1', isOptional: false }],
        port: other.address().port,
        find: () => Promise.reject(new Error('unused')),
        now: () => 0,
        room: createRoom(1),
      }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

describe('a hostile client of a UDP port', () => {
  it(`has at most ${maxSessions} sessions: the one that was idle the longest ends`, async () => {
    const { upstream } = await container()
    let sessions = 0
    let most = 0
    const counting = {
      hasPlace: () => true,
      enter: () => {
        most = Math.max(most, ++sessions)
      },
      leave: () => {
        sessions--
      },
    }
    const entered = new Set<object>()
    const port = await open(async () => ({ upstream, instance: container }), {
      ...counting,
      enter: (session) => {
        if (entered.has(session)) return
        entered.add(session)
        counting.enter()
      },
    })
    const first = await socketAt('127.0.0.1')
    await ask(first, port, 'first')
    for (let count = 0; count < maxSessions; count++) {
      const client = await socketAt('127.0.0.1')
      await ask(client, port, 'x')
    }
    expect([most, sessions, entered.size]).toEqual([maxSessions, maxSessions, maxSessions + 1])
    // It has no session any more: it gets another one.
    await ask(first, port, 'again')
    expect(entered.size).toBe(maxSessions + 2)
  })

  it('gets no session beyond those that all ports together may have', async () => {
    const { upstream, heard } = await container()
    const port = await open(async () => ({ upstream, instance: container }), createRoom(1))
    const [one, two] = [await socketAt('127.0.0.1'), await socketAt('127.0.0.1')]
    await ask(one, port, 'one')
    two.send('two', port.port, '127.0.0.1')
    await ask(one, port, 'one again')
    expect(heard).not.toContain('two')
  })

  it('that floods while the container starts leaves eight datagrams to it', async () => {
    const { upstream, heard } = await container()
    const started = Promise.withResolvers<void>()
    let asked = 0
    const port = await open(async () => {
      asked++
      await started.promise
      return { upstream, instance: container }
    })
    const client = await socketAt('127.0.0.1')
    for (let sent = 0; sent < 500; sent++) client.send(`x${sent}`, port.port, '127.0.0.1')
    await expect.poll(() => asked).toBe(1)
    const other = await socketAt('127.0.0.1')
    const answer = ask(other, port, 'last')
    await expect.poll(() => asked).toBe(2)
    started.resolve()
    expect(await answer).toBe('last')
    expect(heard.filter((each) => each.startsWith('x')).length).toBeLessThanOrEqual(8)
  })
})
