/** TCP and TLS connections of functions: `connect()`, `node:net` and `node:tls` behave alike on the same servers. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../harness/certificate.ts'
import { needs } from '../../../harness/installed.ts'
import { type Services, startServices } from '../../../harness/services.ts'
import { writeUntilFull } from '../../../harness/unread.ts'
import { isEncrypted, type Kind, kinds, source } from './function.ts'

let services: Services
let basePath: string
let id: string
const servers: Server[] = []
const sockets = new Set<Socket>()
/** What the servers got, by name of the server. */
let received: Record<string, string>

/** What each server does with a connection. */
const behaviours = {
  echo: (socket: Socket) => void socket.pipe(socket),
  /** Ends its side first. */
  bye(socket: Socket) {
    socket.end('bye')
    socket.on('data', (chunk) => {
      received.bye = (received.bye ?? '') + chunk
    })
  },
  /** Answers after the end of the other side. */
  late(socket: Socket) {
    socket.on('end', () => socket.end('answer')).resume()
  },
  deaf: (socket: Socket) => void socket.pause(),
  quiet: (socket: Socket) => void socket.on('end', () => socket.end()).resume(),
  reset(socket: Socket) {
    setImmediate(() => socket.resetAndDestroy())
  },
  flood(socket: Socket) {
    flooded.resolve(writeUntilFull(socket))
  },
} satisfies Record<string, (socket: Socket) => void>
type Behaviour = keyof typeof behaviours

let flooded = Promise.withResolvers<number>()
const ports: Record<string, number> = {}
const portOf = (kind: Kind, behaviour: Behaviour) => ports[`${behaviour}-${isEncrypted(kind)}`]!

async function listen(name: string, server: Server): Promise<void> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ports[name] = (server.address() as AddressInfo).port
}

beforeAll(async () => {
  services = await startServices()
  const files = makeCertificate(services.stack.state, 'echo')
  const tls = { key: readFileSync(files.key), cert: readFileSync(files.cert), allowHalfOpen: true }
  for (const [name, behave] of Object.entries(behaviours)) {
    const serve = (socket: Socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      behave(socket)
    }
    await listen(`${name}-false`, createServer({ allowHalfOpen: true }, serve))
    await listen(`${name}-true`, createTlsServer(tls, serve))
  }
  const closed = createServer()
  await listen('closed', closed)
  await new Promise((resolve) => closed.close(resolve))
  ;({ id, basePath } = await services.deploy('sockets', source, {
    'MCM.OUTBOUND': [...Object.values(ports).map((port) => `127.0.0.1:${port}`), 'localhost:5'].join(','),
    'MCM.IDLE_SEC': '0',
    'MCM.ACCESS': 'public',
  }))
})
afterAll(async () => {
  for (const each of sockets) each.destroy()
  for (const each of servers) each.close()
  await services.stop()
})

async function ask(action: string, kind: Kind | 'idle', query: Record<string, string | number>) {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const { text } = await services.call(`${basePath}/${action}/${kind}?${search}`)
  return JSON.parse(text)
}

/** `connect()` has no option to trust a certificate that signs itself. */
const trusting = kinds.filter((kind) => kind !== 'connect-tls' && kind !== 'starttls')

describe.each(trusting)('%s', needs('openssl'), (kind) => {
  it('carries bytes, and ends in order', async () => {
    const { text, last, events } = await ask('echo', kind, { port: portOf(kind, 'echo') })
    expect({ text, last }).toEqual({ text: 'hello', last: null })
    if (kind === 'net') expect(events).toEqual(['connect', 'ready', 'finish', 'end', 'close'])
    if (kind === 'tls') expect(events.slice(0, 3)).toEqual(['connect', 'ready', 'secureConnect'])
  })

  it('writes on when the other side ends', async () => {
    received = {}
    const { text } = await ask('readAll', kind, { port: portOf(kind, 'bye') })
    expect(text).toBe('bye')
    // TLS of the platform closes both directions.
    if (!isEncrypted(kind)) await expect.poll(() => received.bye).toBe('after your end')
  })

  it('reads on when it ends its side', async () => {
    expect(await ask('askAndEnd', kind, { port: portOf(kind, 'late') })).toEqual({ text: 'answer' })
  })

  it('writes no more than the other side reads', async () => {
    const { accepted } = await ask('fill', kind, { port: portOf(kind, 'deaf') })
    expect(accepted).toBeGreaterThan(0)
    expect(accepted).toBeLessThan(50_000_000)
  })

  it('reads no more than the function does', async () => {
    flooded = Promise.withResolvers()
    const name = `flood-${kind}`
    await ask('keep', kind, { port: portOf(kind, 'flood'), name })
    expect(await flooded.promise).toBeLessThan(50_000_000)
    expect((await services.call(`${basePath}/alive/idle`)).text).toBe('alive')
  })

  it('carries more than all buffers hold in both directions at once', async () => {
    const bytes = (kind === 'net' ? 50 : 10) * 1024 * 1024
    expect(await ask('transfer', kind, { port: portOf(kind, 'echo'), bytes })).toEqual({
      count: bytes,
      isSame: true,
    })
  })

  it('closes the connection when the function drops it', async () => {
    await ask('abort', kind, { port: portOf(kind, 'echo') })
    const port = portOf(kind, 'echo')
    await expect.poll(() => [...sockets].filter((each) => each.localPort === port)).toEqual([])
  })
})

describe.each(['connect', 'net'] as const)('%s', (kind) => {
  it.each([
    ['a port where nothing listens', () => ({ port: ports.closed! }), 'ECONNREFUSED', /ECONNREFUSED/],
    [
      'a port that is not listed',
      () => ({ port: 1 }),
      'EACCES',
      /127\.0\.0\.1:1 is not listed in MCM\.OUTBOUND/,
    ],
    ['a host that is not listed', () => ({ host: 'db.example', port: 5432 }), 'EACCES', /not listed/],
    ['a name that leads inside', () => ({ host: 'localhost', port: 5 }), 'EACCES', /is not public/],
  ])('is refused by %s', async (_, target, code, message) => {
    const answer = await ask('refused', kind, target())
    expect(answer).toMatchObject({ code, closed: code, message: expect.stringMatching(message) })
    if (kind === 'net') expect(answer.events).toEqual(['error', 'close'])
  })

  it('a reset is an error, and no end', async () => {
    const { code } = await ask('readAll', kind, { port: portOf(kind, 'reset') })
    expect(code).toBe('ECONNRESET')
  })
})

it.each(['connect-tls', 'starttls'] as const)(
  '%s trusts no certificate that signs itself',
  needs('openssl'),
  async (kind) => {
    const answer = await ask('refused', kind, { port: portOf(kind, 'echo') })
    expect(answer.message).toMatch(/certificate|UnknownIssuer|self.signed/i)
  },
)

describe('the connections of an instance', () => {
  const open = () => [...sockets].filter(({ localPort }) => localPort === portOf('net', 'quiet')).length

  it('are 64, and another one is refused until one is closed', async () => {
    await ask('drop', 'idle', {})
    const query = { port: portOf('net', 'echo'), count: 70 }
    await expect.poll(() => ask('many', 'idle', { ...query, count: 64 })).toEqual({ open: 64 })
    expect(await ask('many', 'idle', query)).toEqual({ open: 64, EMFILE: 6 })
  })

  it('close when it is stopped', async () => {
    await ask('keep', 'net', { port: portOf('net', 'quiet'), name: 'stopped' })
    await ask('keep', 'connect', { port: portOf('net', 'quiet'), name: 'stopped too' })
    expect(open()).toBe(2)
    const query = { edgeAccessToken: services.token, id }
    await services.runtime().stopContainer(query)
    await expect.poll(open).toBe(0)
    await services.runtime().startContainer(query)
    expect((await services.call(`${basePath}/alive/idle`)).text).toBe('alive')
  })

  it('close when the runtime is killed, and open again when it runs', async () => {
    await ask('keep', 'net', { port: portOf('net', 'quiet'), name: 'killed' })
    await services.restart('SIGKILL')
    await expect.poll(open).toBe(0)
    await expect.poll(async () => (await services.call(`${basePath}/alive/idle`)).text).toBe('alive')
    expect(await ask('echo', 'net', { port: portOf('net', 'echo') })).toMatchObject({ text: 'hello' })
  })
})

/**
 * The runtime accepts 128 connections of an instance, among them 64 that lead on, and refuses the others of those with `EMFILE`. What is
 * beyond 128 at one moment is closed at once: `ECONNRESET`.
 */
it('a function that opens 300 connections too many has 64, and answers on', async () => {
  const counts: Record<string, number> = await ask('many', 'idle', {
    port: portOf('net', 'echo'),
    count: 364,
  })
  expect(Object.keys(counts)).not.toContain('failed')
  const { open, EMFILE = 0, ECONNRESET = 0 } = counts
  expect({ open, refused: EMFILE + ECONNRESET }, JSON.stringify(counts)).toEqual({ open: 64, refused: 300 })
  expect((await services.runtime().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
  await expect
    .poll(() => ask('echo', 'net', { port: portOf('net', 'echo') }))
    .toMatchObject({ text: 'hello' })
})
