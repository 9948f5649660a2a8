import { once } from 'node:events'
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { isLarge } from '../../../../../packages/service-kit/src/http/large-body.ts'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { opens, writeUntilFull } from '../../../../../tests/harness/unread.ts'
import { isListed, neverReached, passOut, refuseCall } from './egress.ts'

describe('the list of hosts that a function may call', () => {
  it.each([
    ['api.example.com', 'https://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com/x', true],
    ['api.example.com', 'http://api.example.com:8080/x', false],
    ['api.example.com:8080', 'http://api.example.com:8080/x', true],
    ['api.example.com:8080', 'http://api.example.com/x', false],
    ['api.example.com:443', 'https://api.example.com/x', true],
    ['api.example.com:443', 'http://api.example.com/x', false],
    ['api.example.com:80', 'http://api.example.com/x', true],
    ['api.example.com:80', 'https://api.example.com/x', false],
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
    expect(isListed(['other.example', listed, '192.0.2.1'], new URL(url))).toBe(expected)
  })
})

it.each([
  ['169.254.169.254', true],
  ['[fe80::1]', true],
  ['[::ffff:169.254.0.1]', true],
  ['100.100.100.200', true],
  ['10.0.0.1', false],
  ['127.0.0.1', false],
  ['[::1]', false],
  ['metadata.example', false],
])('%s is never reached, not even if it is listed: %s', (hostname, expected) => {
  const why = `${hostname} is a link-local or metadata address, which services never reach`
  expect(neverReached(hostname)).toBe(expected ? why : undefined)
})

it.each([
  { headersSent: true, destroyed: false },
  { headersSent: false, destroyed: true },
])('an answer is not refused any more with %j', (response) => {
  refuseCall(response as ServerResponse, 'late')
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
      method = 'GET',
      body = '',
      network = directNetwork,
    }: {
      addresses?: readonly string[]
      headers?: Record<string, string>
      method?: string
      body?: string
      network?: Parameters<typeof passOut>[4]['network']
    } = {},
  ) {
    const asked: string[] = []
    const resolve = async (hostname: string) => {
      asked.push(hostname)
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    }
    let mayBeLarge = false
    const port = await listen(
      createServer((request, response) => {
        passOut(request, response, target, outbound, { network, resolve })
        mayBeLarge = isLarge(request)
      }),
    )
    const sent = httpRequest({ host: '127.0.0.1', port, agent: false, headers, method }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const text = await response.toArray().then(
      (parts) => Buffer.concat(parts).toString(),
      () => 'cut',
    )
    const { statusCode: status, headers: answered } = response
    return { status, text, asked, refused: answered['x-selvedge-refused'], answered, mayBeLarge }
  }

  /** A host that answers with exactly these bytes; gives how many connections it had, and its last request. */
  async function host(answer: string) {
    let connections = 0
    let open = 0
    let seen = ''
    const server = createTcpServer((socket) => {
      connections++
      open++
      socket.on('error', () => undefined)
      socket.on('close', () => open--)
      socket.once('data', (data) => {
        seen = String(data)
        if (answer !== 'never') socket.end(answer)
      })
    })
    return { port: await listen(server), connections: () => connections, seen: () => seen, open: () => open }
  }

  it('reaches an address that is listed', async () => {
    const { port } = await host('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    expect(await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).toMatchObject({
      status: 200,
      text: 'hi',
    })
  })

  it('is sent as the function made it, without what was meant for the runtime, over the way to foreign hosts', async () => {
    const { port, seen } = await host('HTTP/1.1 599 X\r\nX-Request-Id: own\r\nContent-Length: 0\r\n\r\n')
    const ways: unknown[] = []
    const answer = await call(`http://127.0.0.1:${port}/a?b`, [`127.0.0.1:${port}`], {
      ...{
        method: 'PUT',
        body: 'body',
        headers: { 'X-Own': '1', 'X-Selvedge-Target': 'x', Host: 'runtime' },
      },
      network: {
        agentFor(url: string | URL, kind) {
          ways.push([String(url), kind])
          return undefined as never
        },
        isProxied: () => false,
      },
    })
    expect(answer).toMatchObject({ status: 599, mayBeLarge: true, answered: { 'x-request-id': 'own' } })
    expect(answer.answered).not.toHaveProperty('content-security-policy')
    expect(seen()).toMatch(/^PUT \/a\?b HTTP\/1\.1\r\n/)
    expect(seen()).toContain('X-Own: 1\r\n')
    expect(seen().match(/Host: .*/gi)).toEqual([`Host: 127.0.0.1:${port}`])
    expect(seen()).not.toMatch(/selvedge/i)
    expect(ways).toEqual([[`http://127.0.0.1:${port}/a?b`, 'foreign']])
  })

  it('to a host that is not listed names the setting', async () => {
    const refused = (await call('http://b.example:81/', ['a.example', 'public:1'])).refused
    expect(refused).toBe(
      'b.example:81 is not listed in MCM.OUTBOUND; deploy the container with "MCM.OUTBOUND": "a.example,public:1,b.example:81"',
    )
    expect((await call('https://b.example/', [])).refused).toContain('b.example is not listed')
    expect((await call('http://169.254.169.254/', ['169.254.169.254'])).refused).toContain('never reach')
    expect((await call('x\u00fc', [])).refused).toMatch(/^x\? is not an http/)
    expect((await call('x'.repeat(300), [])).refused).toMatch(/^x{200} is not an http/)
  })

  it('that announces its answer too often is refused', async () => {
    const info = 'HTTP/1.1 103 Early Hints\r\n\r\n'
    const often = await host(info.repeat(17))
    const refused = await call(`http://127.0.0.1:${often.port}/`, [`127.0.0.1:${often.port}`])
    expect(refused).toMatchObject({
      ...{ status: 403, refused: `127.0.0.1:${often.port}: it announced its answer too often` },
    })
    // Part of the answer was sent with what was too much.
    const late = await host(`${info.repeat(17)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`)
    await expect(call(`http://127.0.0.1:${late.port}/`, [`127.0.0.1:${late.port}`])).rejects.toThrow(
      'hang up',
    )
    const { port } = await host(`${info.repeat(16)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`)
    expect((await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).status).toBe(200)
  })

  it('with an answer that breaks off is cut off', async () => {
    const { port } = await host('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    expect(await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).toMatchObject({
      ...{ status: 200, text: 'cut' },
    })
  })

  it('that the function leaves ends at the host as well', async () => {
    const { port, open } = await host('never')
    const own = await listen(
      createServer((request, response) =>
        passOut(request, response, `http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`], {
          network: directNetwork,
        }),
      ),
    )
    const client = connect(own, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(open).toBe(1)
    client.destroy()
    await expect.poll(open).toBe(0)
  })

  it('without a byte for a minute is refused', async () => {
    const { port, seen } = await host('never')
    const agent = new Agent()
    const answer = call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`], {
      network: { agentFor: () => agent, isProxied: () => false },
    })
    await expect.poll(seen).toMatch(/^GET /)
    Object.values(agent.sockets)[0]![0]!.emit('timeout')
    expect((await answer).refused).toBe(`127.0.0.1:${port}: no data for 60 s`)
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
    [
      'another protocol',
      'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'the connection was closed without an answer',
    ],
    ['the status 600', 'HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n', 'it answered with the status 600'],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['nothing', ''],
    ['a malformed header', 'HTTP/1.1 200 OK\r\nX: \x01\r\nContent-Length: 0\r\n\r\n'],
  ])('is refused when the host answers with %s', async (_, answer, why = '') => {
    const { port } = await host(answer)
    const { status, refused } = await call(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])
    expect(status).toBe(403)
    expect(refused).toContain(`127.0.0.1:${port}: ${why}`)
  })

  it.each(['http://user@127.0.0.1/', 'http://:secret@127.0.0.1/', 'ftp://127.0.0.1/', 'x', ''])(
    'is refused for the URL %j',
    async (target) => {
      expect((await call(target, ['127.0.0.1'])).refused).toContain('is not an http or https URL')
    },
  )
})
