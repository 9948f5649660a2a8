import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import { isListed, passOut } from './egress.ts'

describe('the list of hosts that a function may call', () => {
  it.each([
    ['api.example.com', 'https://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com:8080/x', false],
    ['api.example.com:8080', 'http://api.example.com:8080/x', true],
    ['api.example.com:8080', 'http://api.example.com/x', false],
    ['example.com', 'https://api.example.com/', false],
    ['example.com', 'https://example.com.evil.example/', false],
    ['api.example.com', 'https://API.EXAMPLE.COM/', true],
    ['10.0.0.5:8080', 'http://10.0.0.5:8080/', true],
    ['10.0.0.5', 'http://0x0a000005/', true],
    ['127.0.0.1:1', 'http://127.0.0.1:2/', false],
    ['[::1]:8080', 'http://[::1]:8080/', true],
    ['[::1]', 'http://[0:0::1]/', true],
    ['[::1]:8080', 'http://[::2]:8080/', false],
    ['public', 'https://any.example:9/', true],
    ['public', 'http://1.1.1.1/', true],
    ['public', 'http://[2606:4700::1111]/', true],
    ['public', 'http://10.0.0.5/', false],
    ['public', 'http://127.0.0.1/', false],
    ['public', 'http://169.254.169.254/', false],
    ['public', 'http://[::1]/', false],
    ['public', 'http://[::ffff:10.0.0.1]/', false],
    ['10.1.2.0/24:502', 'http://10.1.2.255:502/', true],
    ['10.1.2.0/24:502', 'http://10.1.2.1/', false],
    ['10.1.2.0/24', 'http://10.1.2.1/', true],
    ['10.1.2.0/24', 'http://10.1.3.1/', false],
    ['10.1.2.0/24', 'http://name.example/', false],
    ['0.0.0.0/0', 'http://[::1]/', false],
  ])('%s, asked for %s: %s', (listed, url, expected) => {
    expect(isListed([listed], new URL(url))).toBe(expected)
  })
})

describe('a call of a function', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const each of servers.splice(0)) {
      each.close()
      if ('closeAllConnections' in each) (each as ReturnType<typeof createServer>).closeAllConnections()
    }
  })
  async function listen<T extends Server>(server: T): Promise<number> {
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  it(
    'reads no more of an answer than the function does',
    opens('apps/runtime/src/services/gateway/egress.ts'),
    async () => {
      let sent = 0
      const piece = Buffer.alloc(100_000)
      const flood = await listen(
        createServer((_, response) => {
          const send = () => {
            do sent += piece.length
            while (response.write(piece) && sent < 500_000_000)
          }
          response.on('drain', send)
          send()
        }),
      )
      const host = `127.0.0.1:${flood}`
      const port = await listen(
        createServer((request, response) =>
          passOut(request, response, `http://${host}/`, [host], { network: directNetwork }),
        ),
      )
      const reader = connect(port, '127.0.0.1').pause()
      reader.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      for (let before = -1; sent === 0 || sent !== before; ) {
        before = sent
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
      expect(sent).toBeLessThan(50_000_000)
      reader.destroy()
    },
  )

  it(
    'reads no more of a body of the function than the host does',
    opens('apps/runtime/src/services/gateway/egress.ts'),
    async () => {
      const deaf = await listen(createTcpServer((socket) => socket.pause()))
      const host = `127.0.0.1:${deaf}`
      let read = () => 0
      const port = await listen(
        createServer((request, response) => {
          read = () => request.socket.bytesRead
          passOut(request, response, `http://${host}/`, [host], { network: directNetwork })
        }),
      )
      const sender = connect(port, '127.0.0.1').on('error', () => undefined)
      sender.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000000\r\n\r\n')
      await writeUntilFull(sender)
      expect(read()).toBeLessThan(50_000_000)
      sender.destroy()
    },
  )

  /** Sends a request on the way out, as the host socket does. */
  async function call(
    target: string,
    outbound: readonly string[],
    {
      addresses = [],
      headers = {},
    }: { addresses?: readonly string[]; headers?: Record<string, string> } = {},
  ) {
    const asked: string[] = []
    const resolve = async (hostname: string) => {
      asked.push(hostname)
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    }
    const port = await listen(
      createServer((request, response) =>
        passOut(request, response, target, outbound, { network: directNetwork, resolve }),
      ),
    )
    const sent = httpRequest({ host: '127.0.0.1', port, agent: false, headers }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const text = Buffer.concat(await response.toArray()).toString()
    return { status: response.statusCode, text, asked, refused: response.headers['x-selvedge-refused'] }
  }

  /** A host that answers with exactly these bytes; gives how many connections it had. */
  async function host(answer: string) {
    let connections = 0
    const server = createTcpServer((socket) => {
      connections++
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answer))
    })
    return { port: await listen(server), connections: () => connections }
  }

  it('reaches an address that is listed', async () => {
    const { port } = await host('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    expect(await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).toMatchObject({
      status: 200,
      text: 'hi',
    })
  })

  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    '::7f00:1',
    '10.0.0.1',
    '169.254.169.254',
    '198.18.0.1',
    '192.0.0.170',
    'fe80::1%lo',
    'fd00::1',
  ])('never reaches %s by a name', async (address) => {
    const { port, connections } = await host('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    const { status, refused, asked } = await call(
      `http://inner.example:${port}/`,
      [`inner.example:${port}`],
      { addresses: [address] },
    )
    expect(status).toBe(403)
    expect(refused).toContain(`inner.example resolves to ${address}, which is not public; list the address`)
    expect(connections()).toBe(0)
    // Asked once: there is no second answer that could lead elsewhere.
    expect(asked).toEqual(['inner.example'])
  })

  it.each([
    ['an invalid status', 'HTTP/1.1 000 X\r\n\r\n'],
    ['a status that Node does not send', 'HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['nothing', ''],
    ['a malformed header', 'HTTP/1.1 200 OK\r\nX: \x01\r\nContent-Length: 0\r\n\r\n'],
  ])('is refused when the host answers with %s', async (_, answer) => {
    const { port } = await host(answer)
    const { status, refused } = await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])
    expect(status).toBe(403)
    expect(refused).toContain(`127.0.0.1:${port}: `)
  })

  it.each(['http://user@127.0.0.1/', 'http://:secret@127.0.0.1/', 'ftp://127.0.0.1/', 'x', ''])(
    'is refused for the URL %j',
    async (target) => {
      expect((await call(target, ['127.0.0.1'])).refused).toContain('is not an http or https URL')
    },
  )
})
