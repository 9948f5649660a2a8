/** The request for a document that a user of the service named: where it may go, and what its answer may cost. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../tests/harness/direct-network.ts'
import { createGuardedGet } from './get-guarded-json.ts'

let server: Server | undefined
afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const localGet = createGuardedGet({ outbound: directNetwork, allowsPrivate: true })
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    (value) => `answered ${JSON.stringify(value)}`,
    (cause: Error) => cause.message,
  )

/** A name server with the answers of a test, which counts questions. */
function nameServer(...answers: string[][]) {
  let asked = 0
  const resolve = async () => {
    const addresses = answers[Math.min(asked++, answers.length - 1)]!
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return { resolve, asked: () => asked }
}

it('gets strict JSON', async () => {
  const url = await serve(({ method }, response) => response.end(`{"a": ["${method}"]}`))
  expect(await localGet(url)).toEqual({ a: ['GET'] })
})

describe('an address', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0.0.0.0/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::1]/',
    'https://[2002:7f00:1::]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
  ])('%s is not connected to', async (url) => {
    const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: false })
    expect(await refusalOf(get(url))).toContain('is an address that is not connected to')
  })

  it.each(['https://169.254.169.254/', 'https://[fe80::1]/', 'https://0.0.0.0/', 'http://10.0.0.1/'])(
    '%s is not connected to even if private ones are allowed',
    async (url) => {
      expect(await refusalOf(localGet(url))).toContain('is an address that is not connected to')
    },
  )

  it.each(['http://issuer.example/', 'ftp://issuer.example/', 'file:///etc/passwd', 'data:,{}'])(
    'of %s is not even looked up',
    async (url) => {
      const names = nameServer(['192.0.2.1'])
      const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: false, resolve: names.resolve })
      expect(await refusalOf(get(url))).toContain('only https:// is')
      expect(names.asked()).toBe(0)
    },
  )
})

describe('a name', () => {
  it.each([
    ['this machine', ['127.0.0.1']],
    ['this machine, as IPv6', ['::1']],
    ['this machine, as a mapped address', ['::ffff:127.0.0.1']],
    ['a private network', ['10.1.2.3']],
    ['a private network, by NAT64', ['64:ff9b::a01:203']],
    ['the metadata service of a cloud', ['169.254.169.254']],
    ['several private addresses', ['10.0.0.1', '192.168.0.1']],
    ['nothing', []],
  ])('that leads to %s is refused, without saying where it leads', async (_, addresses) => {
    const get = createGuardedGet({
      outbound: directNetwork,
      allowsPrivate: false,
      resolve: nameServer(addresses).resolve,
    })
    expect(await refusalOf(get('https://issuer.example/'))).toBe(
      'issuer.example resolves to no address that may be connected to',
    )
  })

  it('that changes its address after the check leads nowhere else: it is resolved once', async () => {
    const names = nameServer(['127.0.0.1'], ['10.0.0.1'])
    const url = await serve((_, response) => response.end('{}'))
    const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: true, resolve: names.resolve })
    expect(await get(url.replace('127.0.0.1', 'issuer.example'))).toEqual({})
    expect(names.asked()).toBe(1)
    expect(await refusalOf(get(url.replace('127.0.0.1', 'issuer.example')))).toContain('no address')
  })

  it('of a private network gets no plain HTTP, whatever is allowed', async () => {
    const get = createGuardedGet({
      outbound: directNetwork,
      allowsPrivate: true,
      resolve: nameServer(['10.0.0.1']).resolve,
    })
    expect(await refusalOf(get('http://issuer.example/'))).toContain('no address')
  })
})

describe('an answer', () => {
  it.each([301, 302, 303, 307, 308])('that redirects with %i is not followed', async (status) => {
    let asked = 0
    const url = await serve((_, response) => {
      asked++
      response.writeHead(status, { location: '/other' }).end()
    })
    expect(await refusalOf(localGet(url))).toContain(`redirect (HTTP ${status})`)
    expect(asked).toBe(1)
  })

  it.each([204, 206, 404, 500])('with the status %i is refused', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end(status === 204 ? '' : '{}'))
    expect(await refusalOf(localGet(url))).toContain(`HTTP ${status}`)
  })

  it.each([
    ['is no JSON', '<html>'],
    ['is empty', ''],
    ['has a member twice', '{"issuer":"a","issuer":"b"}'],
    ['is nested deeply', `${'['.repeat(17)}${']'.repeat(17)}`],
    ['is no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('that %s is refused', async (_, body) => {
    const url = await serve((_request, response) => response.end(body))
    expect(await refusalOf(localGet(url))).not.toContain('answered')
  })

  it('of 64 KiB is read, and of one byte more is not', async () => {
    const text = (length: number) => JSON.stringify('x'.repeat(length - 2))
    const url = await serve((request, response) => response.end(text(Number(request.url!.slice(1)))))
    expect(await localGet(`${url}/65536`)).toHaveLength(65_534)
    expect(await refusalOf(localGet(`${url}/65537`))).toContain('more than 65536 bytes')
  })

  it('without an end is given up as soon as it is too large', async () => {
    let closed = false
    const url = await serve((_, response) => {
      const write = () => {
        while (!closed && response.write('x'.repeat(10_000)));
      }
      response.on('drain', write).on('close', () => {
        closed = true
      })
      write()
    })
    expect(await refusalOf(localGet(url))).toContain('more than 65536 bytes')
    expect(await localClosed(() => closed)).toBe(true)
  })

  it('that is compressed is not opened', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, '1'))
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    expect(await refusalOf(localGet(url))).toContain('encoding gzip')
  })

  it.each<[string, RequestListener]>([
    ['never comes', () => undefined],
    ['never ends', (_, response) => void response.write('{"a":')],
    ['only announces itself', (_, response) => response.writeEarlyHints({ link: '</x>; rel=preload' })],
  ])('that %s is given up at the end of its time', async (_, listener) => {
    const url = await serve(listener)
    const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: true, timeoutMs: 200 })
    expect(await refusalOf(get(url))).toContain('did not answer within 0.2 s')
  })

  it('that switches the protocol is given up', async () => {
    const url = await serve(() => undefined)
    server!.on('connection', (socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: true, timeoutMs: 500 })
    expect(await refusalOf(get(url))).not.toContain('answered')
  })

  it('of a name server that never comes is given up, too', async () => {
    const resolve = () => new Promise<never>(() => undefined)
    const get = createGuardedGet({ outbound: directNetwork, allowsPrivate: false, resolve, timeoutMs: 200 })
    expect(await refusalOf(get('https://issuer.example/'))).toContain('did not answer within 0.2 s')
  })
})

/** The server notices a closed connection a moment later. */
async function localClosed(isClosed: () => boolean): Promise<boolean> {
  while (!isClosed()) await new Promise((resolve) => setImmediate(resolve))
  return true
}
