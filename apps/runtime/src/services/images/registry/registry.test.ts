/** A hostile registry, and hosts that it leads to, all of them on the loopback. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { openBlobs } from '../blobs.ts'
import { type HttpGetOptions, openHttpGet, readText, type TransferLimits } from './http-get.ts'
import { type PullOptions, pullImage } from './registry.ts'

const quick: TransferLimits = { headersMs: 300, windowMs: 300, minBytes: 1000, totalMs: 60_000 }
const servers: Server[] = []
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'registry-'))
})
afterEach(() => {
  for (const each of servers.splice(0)) {
    each.close()
    if ('closeAllConnections' in each) (each as ReturnType<typeof createServer>).closeAllConnections()
  }
  rmSync(folder, { recursive: true })
})

async function listen<T extends Server>(server: T): Promise<string> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Heard {
  readonly host: string
  readonly heard: { path: string; authorization: string | undefined }[]
}

/** A host that writes down what it is asked for. */
async function listenTo(answer: RequestListener): Promise<Heard> {
  const heard: Heard['heard'] = []
  const host = await listen(
    createServer((request, response) => {
      heard.push({ path: request.url ?? '', authorization: request.headers.authorization })
      answer(request, response)
    }),
  )
  return { host, heard }
}

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const layer = 'x'.repeat(5000)
const config = '{"rootfs":{"diff_ids":[]}}'
const manifestOf = (layerSize = layer.length) =>
  JSON.stringify({
    config: { digest: sha256(config), size: config.length },
    layers: [{ digest: sha256(layer), size: layerSize }],
  })
const files: Record<string, string> = { [sha256(config)]: config, [sha256(layer)]: layer }
const blobIn = (path = '') => files[path.split('/').at(-1)!] ?? ''

async function pull(
  host: string,
  {
    maxSize = 1e6,
    authFile = '',
    mayReuse = () => false,
    waiting,
    onFound,
    outbound = directNetwork,
    ...http
  }: Partial<HttpGetOptions & Omit<PullOptions, 'http'>> = {},
) {
  let claimed = 0
  const blobs = await openBlobs(folder)
  const announce = async (bytes: number) => {
    claimed += bytes
  }
  const watch = (each: AsyncIterable<Uint8Array>) => each
  const options = { authFile, outbound, announce, watch, maxSize, mayReuse }
  const packed = await pullImage(blobs, `${host}/team/app:1`, {
    ...options,
    ...(waiting && { waiting }),
    ...(onFound && { onFound }),
    http: { limits: quick, ...http },
  })
  return { packed, claimed }
}

const leftovers = () => readdirSync(join(folder, 'incoming'))

function credentials(host: string): string {
  const path = join(folder, 'auth.json')
  writeFileSync(path, JSON.stringify({ auths: { [host]: { auth: btoa('me:secret') } } }))
  return path
}

describe('a pull', () => {
  it('uses stored content again for who has deployed it, and for no one who knows its digest', async () => {
    const blobs = await openBlobs(folder)
    for (const content of [config, layer])
      await blobs.commit(
        await blobs.draft(
          (async function* () {
            yield Buffer.from(content)
          })(),
        ),
      )
    // A registry of the attacker: its manifest names the layer, which it does not have.
    const registry = await listenTo((request, response) => {
      if (request.url?.includes('/manifests/')) response.end(manifestOf())
      else response.writeHead(404).end()
    })
    await expect(pull(registry.host)).rejects.toMatchObject({ reason: 'not_found' })
    expect(leftovers()).toEqual([])
    const { claimed } = await pull(registry.host, { mayReuse: () => true })
    expect(claimed).toBe(0)
  })

  it('follows the redirects of blobs, and shows the other host no credentials', async () => {
    const storage = await listenTo((request, response) => response.end(blobIn(request.url)))
    const tokens = await listenTo((_, response) => response.end('{"token":"abc"}'))
    const registry = await listenTo((request, response) => {
      if (request.headers.authorization !== 'Bearer abc')
        response.writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${tokens.host}/t"` }).end()
      else if (request.url?.includes('/manifests/')) response.end(manifestOf())
      else response.writeHead(307, { Location: `http://${storage.host}${request.url}` }).end()
    })
    const { packed, claimed } = await pull(registry.host, { authFile: credentials(registry.host) })
    expect(packed.layers[0]?.size).toBe(layer.length)
    expect(claimed).toBe(layer.length + config.length)
    expect(tokens.heard.map((each) => each.authorization)).toEqual([`Basic ${btoa('me:secret')}`])
    expect(storage.heard).toHaveLength(2)
    expect(storage.heard.map((each) => each.authorization)).toEqual([undefined, undefined])
  })

  it('accepts no challenge from the target of a redirect: it would name where credentials are sent', async () => {
    const thief = await listenTo((request, response) => {
      if (request.url?.startsWith('/token')) response.end('{"token":"abc"}')
      else
        response
          .writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${request.headers.host}/token"` })
          .end()
    })
    const registry = await listenTo((request, response) => {
      if (request.url?.includes('/manifests/')) response.end(manifestOf())
      else response.writeHead(307, { Location: `http://${thief.host}${request.url}` }).end()
    })
    await expect(pull(registry.host, { authFile: credentials(registry.host) })).rejects.toMatchObject({
      reason: 'registry_unavailable',
    })
    expect(new Set(thief.heard.map((each) => each.authorization))).toEqual(new Set([undefined]))
  })

  it('shows no credentials to the registry itself once a redirect went elsewhere and back', async () => {
    let own = ''
    const other = await listenTo((_, response) =>
      response.writeHead(307, { Location: `http://${own}/back` }).end(),
    )
    const registry = await listenTo((request, response) => {
      if (request.url === '/back') response.end('{}')
      else response.writeHead(307, { Location: `http://${other.host}/` }).end()
    })
    own = registry.host
    const get = await openHttpGet(registry.host, { outbound: directNetwork })
    const answered = await get(`http://${registry.host}/`, { authorization: 'Basic x' })
    answered.discard()
    expect(registry.heard.map((each) => each.authorization)).toEqual(['Basic x', undefined])
  })

  it.each([
    ['http://10.0.0.1/t', 'an address of the local network'],
    ['https://169.254.169.254/latest', 'an address of the local network'],
    ['https://[fd00::1]/', 'an address of the local network'],
    ['https://[64:ff9b::a00:1]/', 'an address of the local network'],
    ['http://inner.example/', 'a host without TLS'],
    ['https://inner.example/', 'inner.example resolves to 192.168.0.1, which is not public'],
    ['https://me:secret@inner.example/', 'a URL with a user name or password'],
    ['file:///etc/passwd', 'no http or https URL'],
    ['https://[', 'no http or https URL'],
  ])('is refused when a realm or a redirect leads to %s', async (url, why) => {
    const resolve = async () => [{ address: '192.168.0.1', family: 4 }]
    for (const answer of [
      { status: 401, headers: { 'WWW-Authenticate': `Bearer realm="${url}",service="x"` } },
      { status: 307, headers: { Location: url } },
    ]) {
      const registry = await listenTo((_, response) =>
        response.writeHead(answer.status, answer.headers as Record<string, string>).end(),
      )
      await expect(pull(registry.host, { resolve })).rejects.toMatchObject({
        reason: 'registry_unavailable',
        message: expect.stringContaining(why),
      })
    }
  })

  it('a registry elsewhere can lead neither to the loopback nor to the local network', async () => {
    const inner = await listenTo((_, response) => response.end())
    const names: Record<string, string> = { 'registry.example': '1.1.1.1', 'lan.example': '10.0.0.1' }
    const resolve = async (name: string) => [{ address: names[name] ?? '127.0.0.1', family: 4 }]
    for (const [registry, urls] of [
      [
        'registry.example',
        [`http://${inner.host}/`, `http://localhost:1/`, 'https://x.example/', 'https://lan.example/'],
      ],
      ['lan.example', [`http://${inner.host}/`, `http://localhost:1/`, 'https://x.example/']],
      ['127.0.0.1', ['https://lan.example/', 'https://10.0.0.1/']],
    ] as const) {
      const get = await openHttpGet(registry, { outbound: directNetwork, resolve })
      for (const url of urls)
        await expect(get(url, {})).rejects.toMatchObject({ reason: 'registry_unavailable' })
    }
    expect(inner.heard).toEqual([])
  })

  it('the name of a registry never leads to the loopback or a link-local address', async () => {
    for (const address of ['127.0.0.1', '169.254.169.254', '::1', '64:ff9b::7f00:1', '198.18.0.1'])
      await expect(
        openHttpGet('evil.example', {
          outbound: directNetwork,
          resolve: async () => [{ address, family: 4 }],
        }),
      ).rejects.toMatchObject({ reason: 'registry_unavailable' })
  })

  it('the name of a registry is asked for once: a second answer changes nothing', async () => {
    const answers = ['127.0.0.1', '10.0.0.1']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++]!, family: 4 }]
    const registry = await listenTo((_, response) => response.end('{}'))
    const host = registry.host.replace('127.0.0.1', 'localhost')
    const get = await openHttpGet(host, { outbound: directNetwork, resolve })
    for (let at = 0; at < 2; at++) expect((await get(`http://${host}/`, {})).status).toBe(200)
    expect(asked).toBe(1)
  })

  it('is refused before a byte comes when the layers are larger than images.maxSize', async () => {
    const registry = await listenTo((_, response) => response.end(manifestOf(2e9)))
    await expect(pull(registry.host)).rejects.toMatchObject({
      reason: 'invalid_image',
      message: expect.stringContaining('images.maxSize'),
    })
    expect(registry.heard).toHaveLength(1)
  })

  it('ends when a blob is longer than in its manifest', async () => {
    let sent = 0
    const registry = await listenTo((request, response) => {
      if (request.url?.includes('/manifests/')) return response.end(manifestOf())
      if (request.url?.endsWith(sha256(config))) return response.end(config)
      const more = () => {
        while (!response.destroyed && response.write(layer)) sent += layer.length
      }
      response.on('drain', more)
      return more()
    })
    await expect(pull(registry.host)).rejects.toMatchObject({ reason: 'digest_mismatch' })
    expect(sent).toBeLessThan(16e6)
    expect(leftovers()).toEqual([])
  })

  describe('with a layer in two answers', () => {
    /** Cuts the answer from the start after half of the layer, so often; sends other bytes for a range, so often. */
    async function listenWithWrongRanges(cuts: number, lies: number) {
      const asked: string[] = []
      const registry = await listenTo((request, response) => {
        if (request.url?.includes('/manifests/')) return response.end(manifestOf())
        if (!request.url?.endsWith(sha256(layer))) return response.end(blobIn(request.url))
        const from = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0)
        asked.push(request.headers.range ?? 'whole')
        const range = `bytes ${from}-${layer.length - 1}/${layer.length}`
        response.writeHead(from > 0 ? 206 : 200, {
          'Content-Length': layer.length - from,
          ...(from > 0 && { 'Content-Range': range }),
        })
        if (from > 0) return response.end(lies-- > 0 ? 'y'.repeat(layer.length - from) : layer.slice(from))
        if (cuts-- <= 0) return response.end(layer)
        return response.write(layer.slice(0, layer.length / 2), () => response.destroy())
      })
      return { ...registry, asked }
    }
    const half = `bytes=${layer.length / 2}-`
    const waiting = { wait: async () => undefined, random: () => 1, now: () => performance.now() }

    it('downloads it again from its start if together they are another content', async () => {
      const { host, asked } = await listenWithWrongRanges(1, 1)
      const seen: number[] = []
      const { packed } = await pull(host, { waiting, onFound: (bytes) => seen.push(bytes) })
      expect(packed.layers[0]!.digest).toBe(sha256(layer))
      expect(asked).toEqual(['whole', half, 'whole'])
      expect(seen).toEqual([-layer.length])
    })

    it('fails after three attempts', async () => {
      const { host, asked } = await listenWithWrongRanges(9, 9)
      await expect(pull(host, { waiting })).rejects.toMatchObject({ reason: 'digest_mismatch' })
      expect(asked).toEqual(['whole', half, 'whole', half, 'whole', half])
      expect(leftovers()).toEqual([])
    })

    it('fails at once if one answer with another content was the whole layer', async () => {
      const registry = await listenTo((request, response) => {
        const { url = '' } = request
        if (url.includes('/manifests/')) return response.end(manifestOf())
        return response.end(url.endsWith(sha256(layer)) ? layer.toUpperCase() : blobIn(url))
      })
      await expect(pull(registry.host)).rejects.toMatchObject({ reason: 'digest_mismatch' })
      expect(registry.heard.filter(({ path }) => path.endsWith(sha256(layer)))).toHaveLength(1)
    })
  })

  it.each([
    ['manifest', '/manifests/', 'invalid_image'],
    ['token', '/token', 'registry_unavailable'],
  ])('ends when a %s has no end', async (_, path, reason) => {
    const registry = await listenTo((request, response) => {
      if (path === '/token' && !request.url?.startsWith('/token'))
        return response
          .writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${request.headers.host}/token"` })
          .end()
      const more = () => {
        while (!response.destroyed && response.write('[1,'.repeat(10_000)));
      }
      response.on('drain', more)
      return more()
    })
    await expect(pull(registry.host)).rejects.toMatchObject({ reason })
  })

  it('ends when a host answers by changing the protocol', async () => {
    const upgrading = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
      )
    })
    await expect(pull(await listen(upgrading))).rejects.toMatchObject({ reason: 'registry_unavailable' })
  })

  it('ends when a host sends a byte now and then, in the headers or in the body', async () => {
    const timers: NodeJS.Timeout[] = []
    const drip = (start: string) =>
      createTcpServer((socket) => {
        socket.on('error', () => undefined)
        socket.write(start)
        timers.push(setInterval(() => socket.write('x'), 20))
      })
    try {
      const headers = await listen(drip('HTTP/1.1 200 OK\r\nX: '))
      await expect(pull(headers)).rejects.toThrow('no answer within')
      const body = await listen(drip('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n'))
      await expect(pull(body)).rejects.toThrow('fewer than 1000 bytes came within')
    } finally {
      for (const each of timers) clearInterval(each)
    }
  })

  it.each(['null', '[]', '{"token":5}', '{"token":"a\\r\\nX: y"}', '{}', 'no'])(
    'is refused when the token service answers %s',
    async (text) => {
      const registry = await listenTo((request, response) => {
        if (request.url?.startsWith('/token')) return response.end(text)
        return response
          .writeHead(401, { 'WWW-Authenticate': `Bearer realm="http://${request.headers.host}/token"` })
          .end()
      })
      await expect(pull(registry.host)).rejects.toMatchObject({ reason: 'registry_unavailable' })
    },
  )

  it('closes the connection of an answer that it does not read', async () => {
    let closed = 0
    const registry = await listenTo((_, response) => {
      response.on('close', () => closed++)
      response.writeHead(404)
      response.write('x')
    })
    await expect(pull(registry.host)).rejects.toMatchObject({ reason: 'not_found' })
    await expect.poll(() => closed).toBe(1)
  })

  it('a document within its limit is read whole', async () => {
    const registry = await listenTo((_, response) => response.end('{"a":1}'))
    const answered = await (await openHttpGet(registry.host, { outbound: directNetwork }))(
      `http://${registry.host}/`,
      {},
    )
    expect(await readText(answered, 7)).toBe('{"a":1}')
  })
})
