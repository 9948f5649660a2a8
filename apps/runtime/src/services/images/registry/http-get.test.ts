/** Registries behind a proxy: which names it gets, and which never. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNetwork } from '@selvedge/client/node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeAuthority } from '../../../../../../tests/harness/authority.ts'
import { type ConnectProxy, startConnectProxy } from '../../../../../../tests/harness/connect-proxy.ts'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { needs } from '../../../../../../tests/harness/installed.ts'
import { openHttpGet, readText } from './http-get.ts'

it('a registry that announces its answer without end is refused', async () => {
  const server = createPlainServer((socket) => {
    sockets.push(socket)
    socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17))
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
  })
  const sockets: Socket[] = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(
    (await openHttpGet(host, { outbound: directNetwork }))(`http://${host}/v2/`, {}),
  ).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: `${host}: it announced its answer without end`,
  })
  for (const socket of sockets) socket.destroy()
  server.close()
})

it('the name of a registry is resolved again after it could not be reached, to addresses of the same kind', async () => {
  const server = createHttpServer((_, response) => response.end('hi'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answers = [['127.0.0.9'], ['10.0.0.1'], [], ['10.0.0.1', '127.0.0.1']]
  let asked = 0
  const resolve = async () => answers[asked++]!.map((address) => ({ address, family: 4 }))
  const get = await openHttpGet(`localhost:${port}`, { outbound: directNetwork, resolve })
  const url = `http://localhost:${port}/v2/`
  for (let each = 0; each < 3; each++) await expect(get(url, {})).rejects.toThrow('127.0.0.9')
  for (let each = 0; each < 2; each++) expect(await readText(await get(url, {}), 10)).toBe('hi')
  expect(asked).toBe(4)
  server.close()
  server.closeAllConnections()
})

describe('a registry behind a proxy', needs('openssl'), () => {
  let folder: string
  let proxy: ConnectProxy
  let close: () => void
  const addresses: Record<string, string> = {
    'public.example': '93.184.215.14',
    'private.example': '10.0.0.7',
    'inside.example': '192.168.1.1',
  }
  const resolve = async (name: string) => {
    const address = addresses[name]
    if (address === undefined) throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' })
    return [{ address, family: 4 }]
  }
  let network: ReturnType<typeof createNetwork>

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'registry-'))
    const authority = makeAuthority(folder, 'company')
    const server = createServer((request, response) => {
      if (request.url === '/inside') response.writeHead(307, { location: 'https://inside.example/' }).end()
      else if (request.url === '/away')
        response.writeHead(307, { location: 'https://unknown.example/' }).end()
      else response.end(`hello from ${request.headers.host}`)
    })
    // Names of the test are those of one certificate each.
    for (const name of ['public.example', 'private.example', 'unknown.example'])
      server.addContext(name, authority.issue(name))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    proxy = await startConnectProxy({ portOf: () => port })
    network = createNetwork({ proxy: proxy.url, caFile: authority.path, env: {} })
    close = () => {
      proxy.close()
      server.closeAllConnections()
      server.close()
    }
  })
  afterEach(() => {
    close()
    rmSync(folder, { recursive: true })
  })

  const get = async (registry: string, path = '/') => {
    const httpGet = await openHttpGet(registry, { outbound: network, resolve })
    return readText(await httpGet(`https://${registry}${path}`, {}), 1000)
  }

  it.each(['public.example', 'private.example', 'unknown.example'])(
    '%s is reached through it',
    async (name) => {
      expect(await get(name)).toBe(`hello from ${name}`)
      expect(proxy.opened).toEqual([`${name}:443`])
    },
  )

  it.each(['public.example', 'unknown.example'])(
    '%s cannot lead a pull into the own network through it',
    async (name) => {
      const pulled = get(name, '/inside')
      await expect(pulled).rejects.toMatchObject({ reason: 'registry_unavailable' })
      await expect(pulled).rejects.toThrow('inside.example resolves to 192.168.1.1')
      expect(proxy.requested).toEqual([`${name}:443`])
    },
  )

  it('it is shown the certificate of this device where the settings have one, and no host that it names', async () => {
    const uses: unknown[] = []
    const outbound = {
      ...network,
      agentFor: (url: URL | string, use: Parameters<typeof network.agentFor>[1]) => {
        uses.push([String(url), use])
        return network.agentFor(url, use)
      },
    }
    const httpGet = await openHttpGet('public.example', { outbound, resolve })
    await (await httpGet('https://public.example/away', {})).discard()
    await (await httpGet('https://unknown.example:8443/', {})).discard()
    expect(uses).toEqual([
      ['https://public.example/away', 'registry'],
      ['https://unknown.example/', 'foreign'],
      ['https://unknown.example:8443/', 'foreign'],
    ])
  })

  it('a name that nothing resolves is an error without a proxy, and for a name of noProxy', async () => {
    network = createNetwork({ proxy: proxy.url, noProxy: ['unknown.example'], env: {} })
    await expect(get('unknown.example')).rejects.toThrow('its name has no address')
    await expect(openHttpGet('unknown.example', { outbound: network, resolve })).rejects.toThrow(
      'its name has no address',
    )
    expect(proxy.requested).toEqual([])
  })
})
