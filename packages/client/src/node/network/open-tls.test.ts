/** Servers that speak something else than TLS, nothing, or with a certificate for another name. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { openTls } from './open-tls.ts'

/** Opens TLS to a server that is given. @returns it, and the connection below */
async function open(server: Server, more: Partial<Parameters<typeof openTls>[0]> = {}) {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => {
    for (const each of [...sockets, socket]) each.destroy()
    server.close()
  })
  await once(socket, 'connect')
  return { port, socket, opened: openTls({ host: 'a.example', port, socket, context: undefined, ...more }) }
}

/** @param text is sent as soon as the first bytes arrive */
const plain = (text: string) => createServer((socket) => void socket.once('data', () => socket.write(text)))

it.each(['HTTP/1.1 400 Bad Request\r\n\r\n', 'SSH-2.0-x\r\n'])(
  'a server that sends %j speaks no TLS, and its connection is closed',
  async (text) => {
    const { port, socket, opened } = await open(plain(text))
    await expect(opened).rejects.toMatchObject({
      ...{ name: 'NetworkFailure', reason: 'no_tls', code: 'ERR_SSL_WRONG_VERSION_NUMBER' },
      message: expect.stringContaining(`a.example:${port} answered without TLS.`),
    })
    expect(socket.destroyed).toBe(true)
  },
)

it('an alert of a server is an error of its own', async () => {
  const { opened } = await open(plain('\x15\x03\x01\x00\x02\x02\x46'))
  await expect(opened).rejects.toMatchObject({ name: 'Error', code: expect.stringMatching(/^ERR_SSL_/) })
})

it('a server that never answers is given up, with its name', async () => {
  const { port, socket, opened } = await open(createServer(), { timeoutMs: 50 })
  await expect(opened).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(opened).rejects.toThrow(`no encrypted connection to a.example:${port} within 0.05 s`)
  expect(socket.destroyed).toBe(true)
})

it.each([
  ['by the server', (server: Socket) => server.end(), 'socket disconnected'],
  ['here', (_: Socket, own: Socket) => own.destroy(), 'was closed before it was encrypted'],
])('a connection that is closed %s is an error', async (_, close, message) => {
  const server = createServer()
  const accepted = once(server, 'connection')
  const { socket, opened } = await open(server)
  opened.catch(() => undefined)
  const [other] = (await accepted) as [Socket]
  await once(other, 'data')
  close(other, socket)
  await expect(opened).rejects.toMatchObject({ code: 'ECONNRESET' })
  await expect(opened).rejects.toThrow(message)
})

describe('a certificate', needs('openssl'), () => {
  let folder: string
  let authority: TestAuthority
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'open-tls-'))
    authority = makeAuthority(folder, 'company')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** @returns a server for b.example, and the names that its clients send */
  function serve() {
    const names: unknown[] = []
    const server = createTlsServer(
      { ...authority.issue('b.example'), ALPNProtocols: ['http/1.1'] },
      (socket) => {
        names.push((socket as { servername?: unknown }).servername)
        socket.on('error', () => undefined).end(String(socket.alpnProtocol))
      },
    )
    return { server, names }
  }
  const context = () => createSecureContext({ ca: readFileSync(authority.path) })

  it('is compared with the name that is given, which is sent to the server', async () => {
    const { server, names } = serve()
    const { opened } = await open(server, { servername: 'b.example', context: context() })
    const socket = await opened
    let text = ''
    for await (const chunk of socket) text += chunk
    expect([text, names]).toEqual(['http/1.1', ['b.example']])
  })

  it.each(['127.0.0.1', '::1'])('has no name that is sent for an address: %s', async (host) => {
    const { server, names } = serve()
    const { opened } = await open(server, { host, acceptsAny: true })
    const socket = await opened
    await once(socket.resume(), 'end')
    expect(names).toEqual([false])
  })

  it('is refused with its fault, by the clock and the proxy that are given, and closed', async () => {
    const { server } = serve()
    const through = 'http://proxy.example'
    const { opened, socket } = await open(server, { servername: 'b.example', through })
    await expect(opened).rejects.toMatchObject({ reason: 'certificate_untrusted' })
    await expect(opened).rejects.toThrow(through)
    expect(socket.destroyed).toBe(true)
    const other = serve()
    const late = await open(other.server, { context: context() })
    await expect(late.opened).rejects.toMatchObject({ reason: 'certificate_name' })
  })
})
