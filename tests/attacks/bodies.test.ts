/** Bodies that come slowly, are refused, or never end, on every path of the runtime. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { rpcPath } from '@selvedge/protocol'
import { createHttpServer } from '@selvedge/service-kit/http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../harness/archives.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let publicPath = ''
beforeAll(async () => {
  services = await startServices()
  const source =
    'export default { fetch: async (request) => new Response(String((await request.arrayBuffer()).byteLength)) }'
  publicPath = (await services.deploy('open', source, { 'MCM.ACCESS': 'public' })).basePath
})
afterAll(() => services?.stop())

const opened: Socket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
})

/** Sends the start of a request to the runtime, and collects what comes back. */
function begin(requestLine: string, headers: Record<string, string | number>, body: string | Buffer = '') {
  const { port, host } = new URL(services.url())
  const socket = connect(Number(port), '127.0.0.1')
  opened.push(socket)
  socket.on('error', () => undefined)
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${requestLine} HTTP/1.1\r\n${lines.join('')}\r\n`)
  socket.write(body)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return { socket, text: () => text }
}

const bearer = () => ({ Authorization: `Bearer ${services.token}` })
const huge = { 'Content-Length': 3_000_000_000 }
const multipart = { 'Content-Type': 'multipart/form-data; boundary=b' }
const field = (name: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="i.tar"\r\nContent-Type: application/x-tar\r\n\r\n`
const isAlive = async () => {
  expect((await services.call(publicPath, { token: null })).status).toBe(200)
  expect(services.stack.runtime.process.exitCode).toBeNull()
}

describe('a request whose body never comes to its end', () => {
  it.each<[string, string, () => Record<string, string | number>, number]>([
    ['without a token', 'POST /mcm/v1/images', () => ({}), 401],
    ['to no path at all', 'POST /nothing', () => ({}), 404],
    ['of another content type', `POST ${rpcPath}`, () => ({ 'Content-Type': 'text/plain' }), 415],
    ['from a foreign page', `POST ${rpcPath}`, () => ({ Origin: 'https://evil.example' }), 403],
    ['with a verb that is not allowed', `PUT ${rpcPath}`, () => ({}), 405],
    ['with a GET of the description', `GET ${rpcPath}/openrpc.json`, () => ({}), 200],
    ['with a verb that images do not have', 'PUT /mcm/v1/images', bearer, 405],
    ['of an archive that is larger than the limit', 'POST /mcm/v1/uploads', bearer, 507],
  ])('is answered at once: %s', async (_, line, headers, status) => {
    const length = status === 507 ? 3e15 : huge['Content-Length']
    const { text } = begin(line, { ...headers(), 'Content-Length': length }, Buffer.alloc(1000))
    await expect.poll(text).toMatch(/^HTTP\/1\.1 \d{3} /)
    // Of an archive that is too large, the disk or the limit may be what refuses it.
    if (status === 507) expect(text()).toMatch(/^HTTP\/1\.1 (507|413|400) /)
    else expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })

  it('is answered as soon as its body is larger than the limit', async () => {
    const headers = { 'Content-Type': 'application/json', ...huge }
    const { text } = begin(`POST ${rpcPath}`, headers, Buffer.alloc(1_100_000, 0x20))
    await expect.poll(text).toMatch(/^HTTP\/1\.1 413 /)
  })

  it.each<[string, Record<string, string>, string]>([
    ['as multipart', multipart, field('image')],
    ['bare', { 'Content-Type': 'application/x-tar' }, ''],
  ])('is answered as soon as its archive is refused, sent %s', async (_, headers, before) => {
    const { socket, text } = begin('POST /mcm/v1/images', { ...bearer(), ...headers, ...huge }, before)
    // No archive at all, and more of it than any buffer on the way holds.
    const piece = Buffer.alloc(64 * 1024, 0x78)
    let sent = 0
    const fill = () => {
      while (!socket.destroyed && text() === '' && sent < 200_000_000) {
        sent += piece.length
        if (!socket.write(piece)) return
      }
    }
    socket.on('drain', fill)
    fill()
    await expect.poll(text).toMatch(/^HTTP\/1\.1 400 .*invalid_image/s)
    expect(sent).toBeLessThan(100_000_000)
  })
})

describe('a multipart body that is broken', () => {
  const archive = functionImage('x')
  it.each<[string, Buffer, RegExp]>([
    [
      'has no closing boundary',
      Buffer.concat([Buffer.from(field('image')), archive]),
      / 400 .*invalid_image/s,
    ],
    [
      'ends in the middle of the archive',
      Buffer.concat([Buffer.from(field('image')), archive.subarray(0, 700)]),
      / 400 .*invalid_image/s,
    ],
    ['ends in its headers', Buffer.from('--b\r\nContent-Disposition: form-data; na'), / 400 /],
    ['holds nothing', Buffer.alloc(0), / 400 /],
    ['has a closing boundary alone', Buffer.from('--b--\r\n'), / 400 .*invalid_params/s],
    ['has another field', Buffer.from(`${field('other')}abc\r\n--b--\r\n`), / 400 .*invalid_params/s],
    ['has another field and no end', Buffer.from(`${field('other')}abc`), / 400 /],
    [
      'has the field twice',
      Buffer.concat([
        Buffer.from(field('image')),
        Buffer.from('no\r\n'),
        Buffer.from(field('image')),
        Buffer.from('no\r\n--b--\r\n'),
      ]),
      / 400 /,
    ],
    ['has another boundary', Buffer.from(field('image').replace('--b', '--c')), / 400 /],
    ['has headers without end', Buffer.from(`--b\r\n${'X-A: b\r\n'.repeat(5000)}`), / 400 /],
  ])('refuses its own request, and nothing else: it %s', async (_, body, expected) => {
    const { text } = begin(
      'POST /mcm/v1/images',
      { ...bearer(), ...multipart, 'Content-Length': body.length },
      body,
    )
    await expect.poll(text).toMatch(expected)
    await isAlive()
  })

  it.each([
    ['in the archive', field('image')],
    ['before it', '--b\r\n'],
  ])('and whose client goes away %s, leaves the runtime as it was', async (_, start) => {
    const headers = { ...bearer(), ...multipart, 'Content-Length': 5000, Expect: '100-continue' }
    const { socket, text } = begin('POST /mcm/v1/images', headers)
    await expect.poll(text).toMatch(/^HTTP\/1\.1 100 /)
    await new Promise((resolve) => socket.write(start, resolve))
    socket.destroy()
    await isAlive()
  })
})

describe('a body that drips', () => {
  it('ends on every path alike, since the server itself sees to it', async () => {
    const paths: string[] = []
    const server = createHttpServer({ bodySeconds: 0.6 })
    server.on('request', (request) => {
      paths.push(request.url!)
      request.resume()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const all = [rpcPath, '/nothing', '/c/service/v1', '/mcm/v1/images', `${rpcPath}/openrpc.json`]
    await Promise.all(
      all.map(async (path) => {
        const socket = connect(port, '127.0.0.1')
        opened.push(socket)
        socket.on('error', () => undefined)
        socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
        const drip = setInterval(() => socket.write('1\r\na\r\n'), 30)
        // Not `once`, which rejects when the connection is reset.
        await new Promise((resolve) => socket.on('close', resolve))
        clearInterval(drip)
      }),
    )
    expect(paths.sort()).toEqual(all.sort())
    server.close()
  })
})
