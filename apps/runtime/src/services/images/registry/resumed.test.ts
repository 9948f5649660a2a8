/** Registries on the loopback that cut, lie about ranges, and are busy. Time is that of the test: no wait lasts. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openBlobs } from '../blobs.ts'
import { pullImage } from './registry.ts'

const layer = Buffer.alloc(5_000_000, 'a layer with parts that differ, ')
for (let at = 0; at < layer.length; at += 1000) layer.writeUInt32LE(at, at)
const config = Buffer.from('{"rootfs":{"diff_ids":[]}}')
const digestOf = (content: Buffer) => `sha256:${hash('sha256', content, 'hex')}`
const manifest = JSON.stringify({
  config: { digest: digestOf(config), size: config.length },
  layers: [{ digest: digestOf(layer), size: layer.length }],
})

interface LayerRequest {
  /** First byte that the request names; 0 without a range. */
  readonly from: number
  /** Position among the requests for the layer, from 1. */
  readonly count: number
  readonly response: ServerResponse
  readonly request: IncomingMessage
}

const servers: Server[] = []
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'resumed-'))
})
afterEach(() => {
  for (const each of servers.splice(0)) {
    each.close()
    each.closeAllConnections()
  }
  rmSync(folder, { recursive: true })
})

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A pull from a registry that answers each request for the layer with a function. */
async function pull(answerLayer: (asked: LayerRequest) => void) {
  const ranges: (string | undefined)[] = []
  const waits: number[] = []
  const host = await listen((request, response) => {
    if (request.url?.includes('/manifests/')) return response.end(manifest)
    if (request.url?.endsWith(digestOf(config))) return response.end(config)
    const { range } = request.headers
    ranges.push(range)
    const from = Number(range?.match(/\d+/)?.[0] ?? 0)
    return answerLayer({ from, count: ranges.length, request, response })
  })
  let watched = 0
  const packed = pullImage(await openBlobs(folder), `${host}/team/app:1`, {
    authFile: '',
    announce: async () => undefined,
    async *watch(content) {
      for await (const chunk of content) {
        watched += chunk.length
        yield chunk
      }
    },
    maxSize: 1e8,
    mayReuse: () => false,
    waiting: { wait: async (ms) => void waits.push(ms), random: () => 1 },
  })
  return { packed, ranges, waits, watched: () => watched }
}

const rangeFrom = (from: number, last = layer.length - 1, total: number | string = layer.length) => ({
  'Content-Range': `bytes ${from}-${last}/${total}`,
  'Content-Length': last - from + 1,
})

/** Sends the layer from a byte on, at most so many bytes of it, and closes the connection there. */
function send({ response, from }: LayerRequest, bytes = layer.length): void {
  response.writeHead(from > 0 ? 206 : 200, from > 0 ? rangeFrom(from) : { 'Content-Length': layer.length })
  if (from + bytes >= layer.length) response.end(layer.subarray(from))
  else response.write(layer.subarray(from, from + bytes), () => response.destroy())
}

async function expectWhole({ packed, watched }: Awaited<ReturnType<typeof pull>>): Promise<void> {
  const [draft] = (await packed).layers
  expect(readFileSync(draft!.path).equals(layer)).toBe(true)
  expect(watched()).toBe(layer.length + config.length)
}

it('requests only the missing bytes after each of 49 cuts, and starts its back-off again with each progress', async () => {
  const part = layer.length / 50
  const pulled = await pull((asked) => send(asked, part))
  await expectWhole(pulled)
  expect(pulled.ranges).toEqual([
    undefined,
    ...Array.from({ length: 49 }, (_, at) => `bytes=${(at + 1) * part}-`),
  ])
  expect(new Set(pulled.waits)).toEqual(new Set([1000]))
})

it.each([
  ['200 for a range', ({ response }: LayerRequest) => response.end(layer)],
  [
    'another range',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, rangeFrom(from + 1)).end(layer.subarray(from + 1)),
  ],
  [
    'another total',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, rangeFrom(from, layer.length - 1, layer.length + 1)).end(layer.subarray(from)),
  ],
  ['416', ({ response }: LayerRequest) => response.writeHead(416).end()],
])('downloads a layer again from its start if the registry answers %s', async (answer, lie) => {
  const pulled = await pull((asked) => {
    if (asked.count === 1) send(asked, 1_000_000)
    else if (asked.from > 0) lie(asked)
    else send(asked)
  })
  await expectWhole(pulled)
  // The whole layer is an answer, too. After the others, it is requested without a range.
  const again = answer === '200 for a range' ? [] : [undefined]
  expect(pulled.ranges).toEqual([undefined, 'bytes=1000000-', ...again])
})

it('stops after five downloads from the start, each of them cut', async () => {
  const pulled = await pull(({ response }) => {
    response.writeHead(200, { 'Content-Length': layer.length })
    response.write(layer.subarray(0, 4_000_000), () => response.destroy())
  })
  await expect(pulled.packed).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: expect.stringMatching(/4000000 of 5000000 bytes of sha256:\w+ arrived in 6 requests/),
  })
  expect(readdirSync(join(folder, 'incoming'))).toEqual([])
})

it('stops after 15 requests that bring nothing, with a longer wait before each of them', async () => {
  const pulled = await pull(({ response }) => response.destroy())
  await expect(pulled.packed).rejects.toMatchObject({ reason: 'registry_unavailable' })
  expect(pulled.ranges).toHaveLength(15)
  expect(pulled.waits).toEqual([1, 2, 4, 8, 16, 32, ...Array<number>(8).fill(60)].map((each) => each * 1000))
})

it.each([429, 503])('waits as long as an answer with %i wants, and continues', async (status) => {
  const pulled = await pull((asked) => {
    if (asked.count === 1) send(asked, 1_000_000)
    else if (asked.count === 2) asked.response.writeHead(status, { 'Retry-After': '120' }).end()
    else send(asked)
  })
  await expectWhole(pulled)
  expect(pulled.waits).toEqual([1000, 122_000])
  expect(pulled.ranges.at(-1)).toBe('bytes=1000000-')
})

it('refuses to wait for a day', async () => {
  const pulled = await pull(({ response }) => response.writeHead(429, { 'Retry-After': '86400' }).end())
  await expect(pulled.packed).rejects.toThrow('no request before 86400 s')
  expect(pulled.waits).toEqual([])
})

it('follows a new redirect of the registry when the signed URL of the storage has expired', async () => {
  let signed = 0
  const storage = await listen((request, response) => {
    const isExpired = request.url !== `/${signed}` || signed === 2
    if (isExpired) response.writeHead(403).end()
    else
      send({ request, response, count: 0, from: Number(request.headers.range?.match(/\d+/)?.[0] ?? 0) }, 3e6)
  })
  const pulled = await pull(({ response }) => {
    signed++
    response.writeHead(307, { Location: `http://${storage}/${signed}` }).end()
  })
  await expectWhole(pulled)
  expect(pulled.ranges).toEqual([undefined, 'bytes=3000000-', 'bytes=3000000-'])
})

it.each([
  [
    'other bytes in a range',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, rangeFrom(from)).end(Buffer.alloc(layer.length - from)),
    'digest_mismatch',
  ],
  [
    'another length',
    ({ response }: LayerRequest) => response.end(Buffer.concat([layer, layer])),
    'digest_mismatch',
  ],
  [
    'a body without an end',
    ({ response, from }: LayerRequest) => {
      response.writeHead(206, { 'Content-Range': rangeFrom(from)['Content-Range'] })
      const more = () => {
        while (!response.destroyed && response.write(layer));
      }
      response.on('drain', more)
      more()
    },
    'digest_mismatch',
  ],
  [
    'a compressed body',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, { ...rangeFrom(from), 'Content-Encoding': 'gzip' }).end(layer.subarray(from)),
    'registry_unavailable',
  ],
  ['403', ({ response }: LayerRequest) => response.writeHead(403).end(), 'registry_unavailable'],
  ['404', ({ response }: LayerRequest) => response.writeHead(404).end(), 'not_found'],
])('refuses %s at once, and leaves nothing on the disk', async (_, lie, reason) => {
  const pulled = await pull((asked) => (asked.count === 1 ? send(asked, 1_000_000) : lie(asked)))
  await expect(pulled.packed).rejects.toMatchObject({ reason })
  expect(pulled.ranges).toHaveLength(2)
  expect(readdirSync(join(folder, 'incoming'))).toEqual([])
})
