/** How connections are opened: what is passed on to a proxy and to TLS, and what gives up. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Issued, makeAuthority, type TestAuthority } from '../../../../../tests/harness/authority.ts'
import { startConnectProxy } from '../../../../../tests/harness/connect-proxy.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { createNotes } from './notes.ts'
import { createOpeners } from './openers.ts'

describe('openers', needs('openssl'), () => {
  let folder: string
  let authority: TestAuthority
  let issued: Issued
  const closing: (() => unknown)[] = []
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'openers-'))
    authority = makeAuthority(folder, 'company')
    issued = authority.issue('b.example')
  })
  afterEach(() => {
    vi.useRealTimers()
    for (const close of closing.splice(0)) close()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  function setUp() {
    const notes = createNotes()
    const context = createSecureContext({ ca: readFileSync(authority.path) })
    const openers = createOpeners({ proxyAuthFile: '', contextFor: () => ({ context }), notes })
    return { notes, ...openers }
  }

  /** @returns port, and the connections */
  async function listen(onSocket: (socket: Socket) => void = () => undefined, isSecure = false) {
    const sockets: Socket[] = []
    const server = isSecure ? createTlsServer(issued) : createServer({ allowHalfOpen: true })
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      sockets.push(socket)
      socket.on('error', () => undefined)
      onSocket(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      for (const each of sockets) each.destroy()
      server.close()
    })
    return { port: (server.address() as AddressInfo).port, sockets }
  }

  const proxyAt = (url: string) => ({ url: new URL(url), credentials: undefined })
  const direct = { server: undefined, isSecure: false, use: 'service', follow: () => undefined } as const

  it('each connection that is open is followed', async () => {
    const { openerOf } = setUp()
    const { port } = await listen()
    const followed: Socket[] = []
    const open = openerOf({ ...direct, follow: (socket) => void followed.push(socket) })
    const socket = await open({ host: '127.0.0.1', port })
    expect(followed).toEqual([socket])
    socket.destroy()
  })

  it('a tunnel for any protocol carries what the other side sends first, and one for HTTP does not', async () => {
    const { tunnel } = setUp()
    const { port } = await listen((socket) => socket.end('hello'))
    const proxy = await startConnectProxy({ portOf: () => port })
    closing.push(() => proxy.close())
    const socket = await tunnel(proxyAt(proxy.url), { host: 'a.example', port: 1, isTcp: true }, 'foreign')
    expect(socket.allowHalfOpen).toBe(true)
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toBe('hello')
    const other = await tunnel(proxyAt(proxy.url), { host: 'a.example', port: 1 }, 'foreign').catch(
      () => undefined,
    )
    expect(other?.allowHalfOpen ?? false).toBe(false)
    other?.destroy()
  })

  it.each([
    ['service', true],
    ['foreign', false],
  ] as const)(
    'a tunnel has the time that is given, and a late one is shown for a %s: %s',
    async (use, isShown) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const { tunnel, notes } = setUp()
      // The time is over once the proxy has the request.
      const { port } = await listen((socket) => socket.once('data', () => vi.advanceTimersByTime(5000)))
      const opening = tunnel(
        proxyAt(`http://127.0.0.1:${port}`),
        { host: 'a.example', port: 1, timeoutMs: 5000 },
        use,
      )
      await expect(opening).rejects.toMatchObject({
        reason: 'proxy_timeout',
        message: expect.stringContaining('within 5 s'),
      })
      expect(notes.problem() !== undefined).toBe(isShown)
    },
  )

  it.each([
    ['a page', 'HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n', 'proxy_sign_in_page', true],
    ['a refusal', 'HTTP/1.1 403 No\r\n\r\n', 'proxy_refused', false],
  ])('%s of a proxy is shown if it is about the proxy itself', async (_, answer, reason, isShown) => {
    const { tunnel, notes } = setUp()
    const { port } = await listen((socket) => socket.once('data', () => socket.end(answer)))
    const opening = tunnel(proxyAt(`http://127.0.0.1:${port}`), { host: 'a.example', port: 1 }, 'foreign')
    await expect(opening).rejects.toMatchObject({ reason })
    expect(notes.problem() !== undefined).toBe(isShown)
  })

  it('a proxy with a certificate for another name is shown', async () => {
    const { tunnel, notes } = setUp()
    const { port } = await listen(undefined, true)
    const opening = tunnel(proxyAt(`https://127.0.0.1:${port}`), { host: 'a.example', port: 1 }, 'foreign')
    await expect(opening).rejects.toMatchObject({ reason: 'certificate_name' })
    expect(notes.problem()).toContain('b.example')
  })

  it('a certificate has to have the name that is given, or that of the host', async () => {
    const { openerOf, notes } = setUp()
    const { port } = await listen(undefined, true)
    const open = openerOf({ ...direct, isSecure: true })
    await expect(open({ host: '127.0.0.1', port })).rejects.toMatchObject({ reason: 'certificate_name' })
    expect(notes.problem()).toContain('b.example')
    const socket = await open({ host: '127.0.0.1', port, servername: 'b.example' })
    // The same server can be used: the failure of before is over.
    expect(notes.problem()).toBeUndefined()
    socket.destroy()
  })

  it('is given up while it is encrypted, also if it was given up before', async () => {
    const { openerOf } = setUp()
    const { port, sockets } = await listen()
    const open = openerOf({ ...direct, isSecure: true })
    const given = new AbortController()
    const opening = open({ host: '127.0.0.1', port, signal: given.signal })
    opening.catch(() => undefined)
    await expect.poll(() => sockets.length).toBe(1)
    await once(sockets[0]!, 'data')
    given.abort(new Error('given up'))
    await expect(opening).rejects.toThrow('was closed before it was encrypted')
    const proxy = await startConnectProxy({ portOf: () => port })
    closing.push(() => proxy.close())
    const through = openerOf({ ...direct, isSecure: true, server: proxyAt(proxy.url) })
    const late = through({ host: 'a.example', port: 1, signal: given.signal })
    await expect(late).rejects.toThrow()
  })
})
