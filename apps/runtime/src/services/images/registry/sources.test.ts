/** Mirrors that are down, behind, hostile or cut, and registries without TLS or with a certificate of an unknown authority. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNetwork } from '@selvedge/client/node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../../../../tests/harness/certificate.ts'
import { startConnectProxy } from '../../../../../../tests/harness/connect-proxy.ts'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { needs } from '../../../../../../tests/harness/installed.ts'
import { openBlobs } from '../blobs.ts'
import { openHttpGet } from './http-get.ts'
import { pullImage } from './registry.ts'
import type { SourceOptions } from './sources.ts'

const layer = Buffer.alloc(300_000, 'a layer with parts that differ, ')
for (let at = 0; at < layer.length; at += 1000) layer.writeUInt32LE(at, at)
const config = Buffer.from('{"rootfs":{"diff_ids":[]}}')
const digestOf = (content: Buffer | string) => `sha256:${hash('sha256', content, 'hex')}`
const manifest = JSON.stringify({
  config: { digest: digestOf(config), size: config.length },
  layers: [{ digest: digestOf(layer), size: layer.length }],
})

const servers: Server[] = []
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sources-'))
})
afterEach(() => {
  for (const each of servers.splice(0)) {
    each.close()
    each.closeAllConnections()
  }
  rmSync(folder, { recursive: true })
})

async function start(server: Server): Promise<string> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Answering = (...given: Parameters<RequestListener>) => unknown

/** Answers with the image, unless the given function answers. */
const withImage =
  (heard: string[], answer?: Answering): RequestListener =>
  (request, response) => {
    const path = request.url ?? ''
    heard.push(
      `${path.replace(/sha256:(...)\w+/, '$1')}${request.headers.range ? ` ${request.headers.range}` : ''}`,
    )
    if (answer?.(request, response)) return
    if (path.includes('/manifests/')) response.end(manifest)
    else if (path.includes('/blobs/')) response.end(path.endsWith(digestOf(config)) ? config : layer)
    else response.end('{}')
  }

/** A registry with the image, and what it heard. */
async function listen(answer?: Answering) {
  const heard: string[] = []
  return { host: await start(createServer(withImage(heard, answer))), heard }
}

async function pull(host: string, options: Partial<SourceOptions> = {}, version = ':1') {
  const packed = await pullImage(await openBlobs(folder), `${host}/team/app${version}`, {
    authFile: '',
    outbound: directNetwork,
    announce: async () => undefined,
    watch: (content) => content,
    maxSize: 1e6,
    mayReuse: () => false,
    waiting: { wait: async () => undefined, random: () => 1, now: () => 0 },
    ...options,
  })
  expect(readFileSync(packed.layers[0]!.path).equals(layer)).toBe(true)
  expect(packed.repoTags).toEqual([`${host}/team/app${version}`])
}

const [configPath, layerPath] = [config, layer].map((each) => `/blobs/${digestOf(each).slice(7, 10)}`)
const all = ['/manifests/1', configPath, layerPath]

describe('a mirror', () => {
  it('is used in place of the registry, under its path', async () => {
    const [mirror, registry] = [await listen(), await listen()]
    await pull(registry.host, { mirrors: [`${registry.host}=${mirror.host}/cache/x`] })
    expect(mirror.heard).toEqual(all.map((each) => `/v2/cache/x/team/app${each}`))
    expect(registry.heard).toEqual([])
  })

  it.each<[string, Answering]>([
    ['is down', ({ socket }) => socket.destroy()],
    ['has no such image', (_, response) => response.writeHead(404).end()],
    ['is busy', (_, response) => response.writeHead(429, { 'Retry-After': '9999' }).end()],
    ['wants credentials', (_, response) => response.writeHead(401).end()],
    ['sends the page of a portal', (_, response) => response.end('<html>sign in</html>')],
    ['leads elsewhere', (_, response) => response.writeHead(302, { Location: 'http://10.0.0.1/' }).end()],
  ])('that %s is left out, and the registry used', async (_, answer) => {
    const [mirror, second, registry] = [await listen(answer), await listen(answer), await listen()]
    const mirrors = [mirror, second].map(({ host }) => `${registry.host}=${host}`)
    await pull(registry.host, { mirrors })
    expect(registry.heard).toEqual(all.map((each) => `/v2/team/app${each}`))
    expect([mirror.heard.length, second.heard.length]).toEqual([1, 1])
  })

  it('with another manifest than the pinned one is left out', async () => {
    const mirror = await listen((request, response) =>
      request.url?.includes('/manifests/') ? response.end(manifest.replace('{', '{ ')) : undefined,
    )
    const registry = await listen()
    const mirrors = [`${registry.host}=${mirror.host}`]
    const pinned = pullImage(await openBlobs(folder), `${registry.host}/team/app@${digestOf(manifest)}`, {
      authFile: '',
      outbound: directNetwork,
      mirrors,
      announce: async () => undefined,
      watch: (content) => content,
      maxSize: 1e6,
      mayReuse: () => false,
    })
    expect((await pinned).layers).toHaveLength(1)
    expect(registry.heard[0]).toContain('/manifests/')
  })

  it('that sends other bytes, or has no layer, is left out for what is missing', async () => {
    const wrong = Buffer.from(layer)
    wrong[5]! ^= 1
    for (const answer of [
      (...[request, response]: Parameters<RequestListener>) =>
        request.url?.endsWith(digestOf(layer)) ? response.end(wrong) : undefined,
      (...[request, response]: Parameters<RequestListener>) =>
        request.url?.endsWith(digestOf(layer)) ? response.writeHead(404).end() : undefined,
    ]) {
      const [mirror, registry] = [await listen(answer), await listen()]
      await pull(registry.host, { mirrors: [`${registry.host}=${mirror.host}`] })
      expect(registry.heard).toEqual([`/v2/team/app${layerPath}`])
      expect(mirror.heard).toHaveLength(3)
    }
  })

  it('that breaks off in a layer is followed by the registry, which sends the missing bytes only', async () => {
    let isDown = false
    const mirror = await listen((request, response) => {
      if (isDown) return request.socket.destroy()
      if (!request.url?.endsWith(digestOf(layer))) return undefined
      isDown = true
      response.writeHead(200, { 'Content-Length': layer.length })
      response.write(layer.subarray(0, 200_000), () => response.destroy())
      return true
    })
    const registry = await listen((request, response) => {
      const from = Number(request.headers.range?.match(/\d+/)?.[0] ?? 0)
      if (from === 0) return undefined
      const range = `bytes ${from}-${layer.length - 1}/${layer.length}`
      return response.writeHead(206, { 'Content-Range': range }).end(layer.subarray(from))
    })
    await pull(registry.host, { mirrors: [`${registry.host}=${mirror.host}`] })
    expect(registry.heard).toEqual([`/v2/team/app${layerPath} bytes=200000-`])
  })

  it('is used again after an outage of all sources', async () => {
    const closed = await listen()
    servers.pop()!.close()
    let isDown = false
    const ranges: (string | undefined)[] = []
    const mirror = await listen((request, response) => {
      if (isDown) return request.socket.destroy()
      if (!request.url?.endsWith(digestOf(layer))) return undefined
      ranges.push(request.headers.range)
      if (ranges.length > 1) {
        const range = `bytes 200000-${layer.length - 1}/${layer.length}`
        return response.writeHead(206, { 'Content-Range': range }).end(layer.subarray(200_000))
      }
      isDown = true
      response.writeHead(200, { 'Content-Length': layer.length })
      response.write(layer.subarray(0, 200_000), () => response.destroy())
      return true
    })
    const causes: string[] = []
    const wait = async (_: number, cause: unknown) => {
      causes.push((cause as Error).message)
      isDown = causes.length < 30
    }
    const waiting = { wait, random: () => 1, now: () => 0 }
    await pull(closed.host, { mirrors: [`${closed.host}=${mirror.host}`], waiting })
    expect(ranges).toEqual([undefined, 'bytes=200000-'])
    expect(causes).toHaveLength(30)
    expect(causes.at(-1)).toContain('ECONNREFUSED')
    expect(causes.at(-1)).toContain(`of its mirrors: ${mirror.host}`)
  })

  it('that cuts each answer is left out', async () => {
    let asked = 0
    const mirror = await listen((request, response) => {
      if (!request.url?.endsWith(digestOf(layer))) return undefined
      asked++
      response.writeHead(200, { 'Content-Length': layer.length }).flushHeaders()
      return response.write('', () => response.destroy())
    })
    const registry = await listen()
    await pull(registry.host, { mirrors: [`${registry.host}=${mirror.host}`] })
    expect([asked, registry.heard]).toEqual([15, [`/v2/team/app${layerPath}`]])
  })

  it('gets its own credentials, and never those of the registry', async () => {
    const sent: (string | undefined)[] = []
    const mirror = await listen((request, response) => {
      sent.push(request.headers.authorization)
      return request.headers.authorization === undefined
        ? response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
        : undefined
    })
    const registry = await listen()
    const authFile = join(folder, 'auth.json')
    const mirrors = [`${registry.host}=${mirror.host}`]
    const auths: Record<string, object> = { [registry.host]: { auth: btoa('me:registry') } }
    writeFileSync(authFile, JSON.stringify({ auths }))
    await pull(registry.host, { mirrors, authFile })
    expect(new Set(sent)).toEqual(new Set([undefined]))
    auths[mirror.host] = { auth: btoa('me:mirror') }
    writeFileSync(authFile, JSON.stringify({ auths }))
    await pull(registry.host, { mirrors, authFile })
    expect(new Set(sent)).toEqual(new Set([undefined, `Basic ${btoa('me:mirror')}`]))
  })

  it('and the registry are both named if both fail', async () => {
    const [mirror, registry] = [
      await listen((_, response) => response.writeHead(404).end()),
      await listen((_, response) => response.writeHead(403).end()),
    ]
    await expect(pull(registry.host, { mirrors: [`${registry.host}=${mirror.host}`] })).rejects.toMatchObject(
      {
        reason: 'registry_refused',
        message: `${registry.host}: it refused a request without credentials, and images.registryAuth is not set (403) (of its mirrors: ${mirror.host} has no ${registry.host}/team/app:1)`,
      },
    )
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
  })
})

describe('a registry of images.insecure', () => {
  const listenWithTls = async (heard: string[] = [], answer?: Answering) => {
    const { key, cert } = makeCertificate(folder, 'registry')
    return start(
      createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, withImage(heard, answer)),
    )
  }

  it(
    'may have a certificate that no authority knows, and another registry may not',
    needs('openssl'),
    async () => {
      const host = await listenWithTls()
      await pull(host, { insecure: [host] })
      const other = await listen()
      const get = await openHttpGet(host, { outbound: directNetwork, insecure: new Set([other.host]) })
      await expect(get(`https://${host}/v2/`, {})).rejects.toMatchObject({
        reason: 'registry_unavailable',
        hint: expect.stringContaining('images.insecure'),
      })
    },
  )

  it(
    'may have such a certificate with the network of a runtime, directly and behind a proxy, and its other hosts may not',
    needs('openssl'),
    async () => {
      const proxied = 'registry.example:5000'
      const host = await listenWithTls([], ({ url }, response) =>
        url === '/moved'
          ? response.writeHead(302, { Location: 'https://storage.example/' }).end()
          : undefined,
      )
      const other = await listenWithTls()
      const proxy = await startConnectProxy({
        portOf: (asked) => Number((asked === proxied ? host : other).split(':')[1]),
      })
      const unknown = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      const network = createNetwork({ proxy: proxy.url, env: {} })
      await pull(host, { insecure: [host], outbound: network })
      await pull(proxied, { insecure: [proxied], outbound: network, http: { resolve: unknown } })
      const get = await openHttpGet(proxied, {
        ...{ insecure: new Set([proxied]), outbound: network, resolve: unknown },
      })
      // Hosts that a registry leads to, and the same host at another port.
      for (const url of [
        `https://${proxied}/moved`,
        'https://registry.example:5001/',
        'https://token.example/',
      ])
        await expect(get(url, {})).rejects.toMatchObject({
          cause: { reason: 'certificate_untrusted' },
          hint: expect.stringContaining('images.insecure'),
        })
      await expect(get(`https://${other}/`, {})).rejects.toThrow('an address of the local network')
      const accepted = await get(`https://${proxied}/v2/`, {})
      expect(accepted.status).toBe(200)
      accepted.discard()
      proxy.close()
    },
  )

  it('may have no TLS, and gets nothing secret until that is known', async () => {
    const { host, heard } = await listen()
    await pull(host, { insecure: [host] })
    expect(heard).toEqual(all.map((each) => `/v2/team/app${each}`))
  })

  it('may be on the network without TLS; others are refused before a connection', async () => {
    const resolve = async () => [{ address: '192.168.0.1', family: 4 }]
    const open = (insecure: string[]) =>
      openHttpGet('registry.example', { outbound: directNetwork, resolve, insecure: new Set(insecure) })
    for (const insecure of [[], ['other.example'], ['registry.example:5000']])
      await expect((await open(insecure))('http://registry.example/v2/', {})).rejects.toThrow(
        'the registry leads to a host without TLS',
      )
  })

  it('is no way to the loopback or to a link-local address', async () => {
    for (const address of ['127.0.0.1', '169.254.169.254'])
      await expect(
        pull('evil.example', {
          insecure: ['evil.example'],
          http: { resolve: async () => [{ address, family: 4 }] },
        }),
      ).rejects.toThrow('which is no address of a registry')
  })
})
