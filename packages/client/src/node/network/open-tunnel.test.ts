/** Proxies that are hostile, broken, or of a network that wants people to sign in. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openTunnel, type TunnelTarget } from './open-tunnel.ts'

let server: Server
const sockets: Socket[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const socket of sockets.splice(0)) socket.destroy()
  server.close()
})

/** @param answer called with each connection and what it sent */
async function listen(answer: (socket: Socket, request: string) => void): Promise<URL> {
  server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => answer(socket, chunk.toString()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

const to = { credentials: undefined, host: 'service.example', port: 443, tls: { context: undefined } }

async function open(answer: (socket: Socket, request: string) => void, target: Partial<TunnelTarget> = {}) {
  return openTunnel({ ...to, proxy: await listen(answer), ...target })
}

const say = (text: string) => (socket: Socket) => void socket.write(text)
const opened = 'HTTP/1.1 200 Connection established\r\n\r\n'

describe('a tunnel', () => {
  it('is opened with the host, the port and the credentials, and carries bytes both ways', async () => {
    let request = ''
    const answer = (socket: Socket, text: string) => {
      request = text
      socket.write(opened)
      socket.on('data', (chunk) => socket.write(`echo ${chunk}`))
    }
    const socket = await open(answer, { credentials: 'me:p@ss', host: '2001:db8::1', port: 8443 })
    socket.write('hello')
    socket.resume()
    expect(String((await once(socket, 'data'))[0])).toBe('echo hello')
    expect(request).toBe(
      'CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n',
    )
    socket.destroy()
  })

  it('is open also if the answer claims to have a large body, which such an answer never has', async () => {
    const headers = 'Content-Length: 9999999999\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked'
    const socket = await open(say(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`))
    expect(socket.destroyed).toBe(false)
    socket.destroy()
  })
})

it('leaves no listener and no timer of the question to the one who gets the tunnel', async () => {
  const socket = await open(say(opened))
  expect(socket.isPaused()).toBe(true)
  // The one for errors is of every connection that is opened here.
  expect(['data', 'error', 'close'].map((name) => socket.listenerCount(name))).toEqual([0, 1, 0])
  socket.destroy()
})

it('gives bytes behind the answer to a protocol in which the other side begins', async () => {
  const socket = await open(say(`${opened}hello`), { isTcp: true })
  socket.resume()
  expect(String((await once(socket, 'data'))[0])).toBe('hello')
  socket.destroy()
})

describe('a proxy is refused, with its address and the next step, if it', () => {
  it.each([
    [
      'needs a password',
      'HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\n\r\n',
      'proxy_credentials',
      'put user:password into',
    ],
    [
      'allows no such host',
      'HTTP/1.1 403 X\r\nContent-Type: text/html\r\n\r\n<p>',
      'proxy_refused',
      'add it to network.noProxy',
    ],
    [
      'cannot reach the host',
      'HTTP/1.1 503 X\r\n\r\n',
      'proxy_refused',
      'does not connect to service.example:443 (HTTP 503)',
    ],
    [
      'redirects',
      'HTTP/1.1 302 X\r\nLocation: http://portal.example\r\n\r\n',
      'proxy_sign_in_page',
      'open a web page',
    ],
    ['wants a sign-in (RFC 6585)', 'HTTP/1.1 511 X\r\n\r\n', 'proxy_sign_in_page', 'open a web page'],
    [
      'answers with a page',
      'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>',
      'proxy_sign_in_page',
      'open a web page',
    ],
    [
      'sends bytes behind its answer',
      `${opened}\x16\x03\x01`,
      'proxy_answer',
      'sent 3 bytes behind its answer',
    ],
    [
      'changes the protocol',
      'HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n',
      'proxy_answer',
      'changed the protocol (101)',
    ],
    ['is no proxy', 'SSH-2.0-x\r\n\r\n', 'proxy_answer', 'check that it is an HTTP proxy'],
  ])('%s', async (_, answer, reason, message) => {
    const opening = open(say(answer))
    await expect(opening).rejects.toMatchObject({ name: 'NetworkFailure', reason })
    await expect(opening).rejects.toThrow(message)
    await expect(opening).rejects.toThrow('the proxy http://127.0.0.1:')
  })

  it.each([
    [300, 'proxy_sign_in_page', undefined],
    [308, 'proxy_sign_in_page', undefined],
    [400, 'proxy_refused', undefined],
    [403, 'proxy_refused', undefined],
    [501, 'proxy_refused', undefined],
    // Of the host, and not of the proxy: what is tried again.
    [502, 'proxy_refused', 'ECONNREFUSED'],
    [503, 'proxy_refused', 'ECONNREFUSED'],
    [504, 'proxy_refused', 'ECONNREFUSED'],
  ])('answers HTTP %i without a page', async (status, reason, code) => {
    const failure = await open(say(`HTTP/1.1 ${status} X\r\n\r\n`)).catch((cause: unknown) => cause)
    expect(failure).toMatchObject({ reason, message: expect.stringContaining(`(HTTP ${status})`) })
    expect((failure as { code?: string }).code).toBe(code ?? reason)
    expect((failure as Error).message).not.toContain('only port 443')
  })

  it('refuses the password, which is not shown', async () => {
    const opening = open(say('HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\n\r\n'), {
      credentials: 'me:secret',
    })
    await expect(opening).rejects.toThrow('refused the user name or the password (HTTP 407)')
    await expect(opening).rejects.not.toThrow(/secret|bWU6c2VjcmV0/)
  })

  it('refuses the password with 401, as tinyproxy does', async () => {
    const opening = open(say('HTTP/1.1 401 X\r\n\r\n'), { credentials: 'me:secret' })
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_credentials' })
    await expect(opening).rejects.toThrow('refused the user name or the password (HTTP 401)')
  })

  it('has other sign-in methods only', async () => {
    const opening = open(
      say('HTTP/1.1 407 X\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n'),
    )
    await expect(opening).rejects.toThrow('only the sign-in methods negotiate, ntlm')
  })

  it('refuses another port than 443', async () => {
    const opening = open(say('HTTP/1.1 403 X\r\n\r\n'), { port: 8443 })
    await expect(opening).rejects.toThrow('Many proxies allow only port 443.')
    const failing = open(say('HTTP/1.1 500 X\r\n\r\n'), { port: 8443 })
    await expect(failing).rejects.not.toThrow('only port 443')
  })

  it('sends a head without end, of which a limited part is read', async () => {
    const opening = open((socket) => {
      const more = () => socket.write('x'.repeat(65_536), (cause) => cause ?? more())
      socket.write('HTTP/1.1 200 OK\r\nX: ')
      more()
    })
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_answer' })
  })

  it('never answers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    // The time is over once the proxy has the request.
    const opening = open(() => void vi.advanceTimersByTime(5000), { timeoutMs: 5000 })
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_timeout', code: 'ETIMEDOUT' })
    await expect(opening).rejects.toThrow('did not connect to service.example:443: no answer within 5 s')
    await expect(opening).rejects.toThrow('or add the host to network.noProxy')
  })

  it('sends one byte after the other, for ever', async () => {
    const opening = open(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX: ')
        // A limit of silence would begin again with each of them.
        const next = setInterval(() => socket.write('x'), 10)
        socket.on('close', () => clearInterval(next))
      },
      { timeoutMs: 1000 },
    )
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_timeout' })
  })

  it.each([
    ['before its answer', ''],
    ['within its answer', 'HTTP/1.1 200 OK\r\nX: '],
  ])('closes the connection %s', async (_, text) => {
    const opening = open((socket) => socket.end(text))
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_unreachable', code: 'ECONNRESET' })
    await expect(opening).rejects.toThrow('it closed the connection without an answer')
  })

  it('is not there', async () => {
    const proxy = await listen(() => undefined)
    server.close()
    const opening = openTunnel({ ...to, proxy })
    await expect(opening).rejects.toMatchObject({ reason: 'proxy_unreachable', code: 'ECONNREFUSED' })
    await expect(opening).rejects.toThrow('Check network.proxy')
  })
})

it('a refused proxy keeps no connection', async () => {
  const closed = new Promise((resolve) => {
    open((socket) => {
      socket.on('close', resolve)
      socket.write('HTTP/1.1 403 X\r\n\r\n')
    }).catch(() => undefined)
  })
  await closed
})
