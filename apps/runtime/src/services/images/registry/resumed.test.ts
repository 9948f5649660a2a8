/** Registries on the loopback that cut, lie about ranges, and are busy. Time is that of the test: no wait lasts. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { createChance } from '../../../../../../tests/harness/seed.ts'
import { openBlobs } from '../blobs.ts'
import { type HttpGet, unavailable } from './http-get.ts'
import { pullImage } from './registry.ts'
import { delayOf, limitTime, resumed } from './resumed.ts'

const layer = Buffer.alloc(5_000_000, 'a layer with parts that differ, ')
for (let at = 0; at < layer.length; at += 1000) layer.writeUInt32LE(at, at)
const config = Buffer.from('{"rootfs":{"diff_ids":[]}}')
const digestOf = (content: Buffer) => `sha256:${hash('sha256', content, 'hex')}`
const manifest = JSON.stringify({
  config: { digest: digestOf(config), size: config.length },
  layers: [{ digest: digestOf(layer), size: layer.length }],
})

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)
/** An HTTP date so many seconds after one that is years in the past, as of a server with a wrong clock. */
const dateAfter = (seconds: number) => new Date(Date.UTC(2014, 10, 7) + seconds * 1000).toUTCString()

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
async function pull(answerLayer: (asked: LayerRequest) => void, random = 1) {
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
  let now = 0
  const packed = pullImage(await openBlobs(folder), `${host}/team/app:1`, {
    authFile: '',
    outbound: directNetwork,
    announce: async () => undefined,
    async *watch(content) {
      for await (const chunk of content) {
        watched += chunk.length
        yield chunk
      }
    },
    maxSize: 1e8,
    mayReuse: () => false,
    waiting: {
      async wait(ms) {
        waits.push(ms)
        now += ms
      },
      random: () => random,
      now: () => now,
    },
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { packed, ranges, waits, watched: () => watched, pass }
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
  [
    'several ranges',
    ({ response, from }: LayerRequest) =>
      response
        .writeHead(206, { 'Content-Type': 'multipart/byteranges; boundary=a' })
        .end(layer.subarray(from)),
  ],
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

it('is complete with its last byte, also if the connection breaks before the answer ends', async () => {
  // In chunks, without the one that would be the last.
  const pulled = await pull(({ response }) => void response.write(layer, () => response.destroy()))
  await expectWhole(pulled)
  expect([pulled.ranges, pulled.waits]).toEqual([[undefined], []])
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

it('requests until its time is over from a registry that cuts each answer, with a longer wait before each request', async () => {
  const pulled = await pull(({ response }) => response.destroy())
  await expect(pulled.packed).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: expect.stringContaining('did not arrive within 24 hours; the last request failed: '),
  })
  const seconds = pulled.waits.map((each) => each / 1000)
  expect(seconds.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(new Set(seconds.slice(6))).toEqual(new Set([60]))
  expect(sumOf(seconds)).toBeLessThanOrEqual(86_400)
  expect(sumOf(seconds)).toBeGreaterThan(86_400 - 60)
})

it.each<[string, (asked: LayerRequest) => void]>([
  ['is cut', ({ response }) => response.destroy()],
  ['is 503', ({ response }) => response.writeHead(503).end()],
  ['brings one byte', (asked) => send(asked, 1)],
])('arrives after 40 requests, if the answer to each of them %s', async (_, answer) => {
  const pulled = await pull((asked) => {
    if (asked.count > 40) send(asked)
    else answer(asked)
  })
  await expectWhole(pulled)
})

it('stops after 15 answers that are complete and bring one byte each, however many cuts are between them', async () => {
  const pulled = await pull(({ count, from, response }) => {
    if (count % 3 > 0) return response.destroy()
    // In chunks: no length is announced.
    response.writeHead(
      from > 0 ? 206 : 200,
      from > 0 ? { 'Content-Range': rangeFrom(from)['Content-Range'] } : {},
    )
    response.write(layer.subarray(from, from + 1))
    return response.end()
  })
  await expect(pulled.packed).rejects.toThrow(/: 15 of 5000000 bytes .* in 45 requests/)
})

it('stops after 15 refusals of a storage host, which no new signed URL changes', async () => {
  const storage = await listen((_, response) => response.writeHead(403).end())
  const pulled = await pull(({ response }) =>
    response.writeHead(307, { Location: `http://${storage}/signed` }).end(),
  )
  await expect(pulled.packed).rejects.toMatchObject({ reason: 'registry_unavailable' })
  expect(pulled.ranges).toHaveLength(15)
})

it('starts its back-off again after 64 KiB, and not after one byte less', async () => {
  const bytes = [65_535, 65_536]
  const pulled = await pull((asked) => {
    if (asked.count % 2 === 1) asked.response.destroy()
    else send(asked, bytes.shift() ?? layer.length)
  })
  await expectWhole(pulled)
  expect(pulled.waits).toEqual([1000, 2000, 4000, 1000, 2000])
})

it('waits half as long at least where the random part is largest', async () => {
  const pulled = await pull((asked) => (asked.count < 4 ? asked.response.destroy() : send(asked)), 0)
  await expectWhole(pulled)
  expect(pulled.waits).toEqual([500, 1000, 2000])
})

it('requests the layer as it is, and continues after an answer that is complete before the layer', async () => {
  const encodings = new Set<string | undefined>()
  const pulled = await pull((asked) => {
    encodings.add(asked.request.headers['accept-encoding']?.toString())
    const { response, from } = asked
    if (from > 0)
      return response
        .writeHead(206, { ...rangeFrom(from), 'Content-Encoding': 'identity' })
        .end(layer.subarray(from))
    // In chunks: no length is announced.
    response.write(layer.subarray(0, 100_000))
    response.end()
  })
  await expectWhole(pulled)
  expect([...encodings]).toEqual(['identity'])
  expect(pulled.ranges).toEqual([undefined, 'bytes=100000-'])
})

it('closes the connection of an answer that does not fit, and states the start of its range', async () => {
  const closed = Promise.withResolvers<void>()
  const pulled = await pull((asked) => {
    const { count, response, from } = asked
    if (count === 1) return send(asked, 70_000)
    // Complete, and without a byte.
    if (count < 16)
      return response.writeHead(206, { 'Content-Range': rangeFrom(from)['Content-Range'] }).end()
    response.on('close', closed.resolve)
    response.writeHead(206, { 'Content-Range': `bytes ${from}-${'9'.repeat(200)}/*` })
    response.write('x')
  })
  await expect(pulled.packed).rejects.toThrow(
    `the last one failed: it sent the range "bytes 70000-${'9'.repeat(88)}" for 70000-4999999 of 5000000`,
  )
  await closed.promise
})

it('states what is wrong with an encoding, in a short text', async () => {
  const pulled = await pull(({ response }) =>
    response.writeHead(200, { 'Content-Encoding': 'z'.repeat(80) }).end(layer),
  )
  await expect(pulled.packed).rejects.toThrow(/it sent sha256:\w{64} with the encoding "z{50}"$/)
})

it('continues where the size of the whole is not in the range of an answer', async () => {
  const pulled = await pull((asked) => {
    const { from, response } = asked
    if (from === 0) send(asked, 1_000_000)
    else response.writeHead(206, rangeFrom(from, layer.length - 1, '*')).end(layer.subarray(from))
  })
  await expectWhole(pulled)
  expect(pulled.ranges).toHaveLength(2)
})

it('stops after a day, however often a registry sends a little and wants the next request later', async () => {
  const pulled = await pull((asked) => {
    if (asked.count % 12 === 1) send(asked, 64 * 1024)
    else asked.response.writeHead(429, { 'Retry-After': '900' }).end()
  })
  await expect(pulled.packed).rejects.toMatchObject({
    reason: 'registry_unavailable',
    message: expect.stringMatching(/did not arrive within 24 hours|accepts no request before/),
  })
  const waited = sumOf(pulled.waits)
  expect(waited).toBeLessThanOrEqual(86_400_000)
  expect(waited).toBeGreaterThan(86_400_000 - 962_000)
})

it('stops after a day while bytes arrive that it has', async () => {
  const pulled = await pull((asked) => {
    if (asked.count === 1) return send(asked, 4_000_000)
    pulled.pass(86_400_000)
    asked.response.end(layer)
  })
  await expect(pulled.packed).rejects.toThrow('did not arrive within 24 hours')
  expect(pulled.ranges).toHaveLength(2)
})

it('connects to no other kind of address when a later request is redirected there', async () => {
  const pulled = await pull((asked) => {
    if (asked.count === 1) send(asked, 1_000_000)
    else asked.response.writeHead(307, { Location: 'https://10.0.0.1/blob' }).end()
  })
  await expect(pulled.packed).rejects.toThrow('leads to an address of the local network')
  expect(pulled.ranges).toHaveLength(2)
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

it.each(['3600', dateAfter(3600)])('waits for an hour if an answer wants that (%s)', async (after) => {
  const pulled = await pull((asked) => {
    if (asked.count === 1) asked.response.writeHead(429, { 'Retry-After': after, Date: dateAfter(0) }).end()
    else send(asked)
  })
  await expectWhole(pulled)
  expect(pulled.waits).toEqual([3_601_000])
})

it.each(['86401', '31536000', '999999999', dateAfter(86_401)])(
  'refuses to wait beyond its time (%s), and states that',
  async (after) => {
    const pulled = await pull(({ response }) =>
      response.writeHead(503, { 'Retry-After': after, Date: dateAfter(0) }).end(),
    )
    await expect(pulled.packed).rejects.toThrow(
      /: it accepts no request before \d+ s are over, and the image has to arrive within 24 hours/,
    )
    expect(pulled.waits).toEqual([])
  },
)

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
    'other bytes from the start',
    ({ response }: LayerRequest) =>
      response.writeHead(200, { ETag: '"new"' }).end(Buffer.alloc(layer.length)),
    'digest_mismatch',
  ],
  [
    'fewer bytes than the blob has',
    ({ response }: LayerRequest) => response.end(layer.subarray(1)),
    'digest_mismatch',
  ],
  [
    'another length',
    ({ response }: LayerRequest) => response.end(Buffer.concat([layer, layer])),
    'digest_mismatch',
  ],
  [
    'a compressed body',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, { ...rangeFrom(from), 'Content-Encoding': 'gzip' }).end(layer.subarray(from)),
    'registry_unavailable',
  ],
  ['403', ({ response }: LayerRequest) => response.writeHead(403).end(), 'registry_refused'],
  ['404', ({ response }: LayerRequest) => response.writeHead(404).end(), 'not_found'],
])('refuses %s at once, and leaves nothing on the disk', async (_, lie, reason) => {
  const pulled = await pull((asked) => (asked.count === 1 ? send(asked, 1_000_000) : lie(asked)))
  await expect(pulled.packed).rejects.toMatchObject({ reason })
  expect(pulled.ranges).toHaveLength(2)
  expect(readdirSync(join(folder, 'incoming'))).toEqual([])
})

it.each([
  [
    'other bytes in a range',
    ({ response, from }: LayerRequest) =>
      response.writeHead(206, rangeFrom(from)).end(Buffer.alloc(layer.length - from)),
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
  ],
])(
  'downloads the layer from its start three times in all when a range is answered with %s',
  async (_, lie) => {
    const pulled = await pull((asked) => (asked.from === 0 ? send(asked, 1_000_000) : lie(asked)))
    await expect(pulled.packed).rejects.toMatchObject({ reason: 'digest_mismatch' })
    expect(pulled.ranges).toEqual([1, 2, 3].flatMap(() => [undefined, 'bytes=1000000-']))
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
  },
)

describe('a registry that is away', () => {
  const url = 'https://registry.example/blob'
  const refused = () =>
    unavailable(url, 'refused', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const blob = { digest: 'sha256:a', size: 1 }

  /** A pull of one byte; the registry is away until a time. @returns when the byte arrived, in milliseconds */
  async function pullUntil(backAt: number, random: () => number): Promise<number> {
    let now = 0
    const waiting = {
      wait: async (ms: number) => void (now += ms),
      random,
      now: () => now,
    }
    const get: HttpGet = async () => {
      if (now < backAt) throw refused()
      const body = (async function* () {
        yield Buffer.from('x')
      })()
      return { origin: url, status: 200, headers: {}, body, discard: () => undefined }
    }
    for await (const _ of resumed(get, url, blob, limitTime(waiting), { waiting })) return now
    return Number.NaN
  }

  it.each([5, 30, 300, 3600, 80_000])(
    'for %i s is asked within four seconds after it is back',
    async (seconds) => {
      const at = await pullUntil(seconds * 1000, () => 1)
      expect(at - seconds * 1000).toBeLessThanOrEqual(4000)
    },
  )

  it('for longer than the pull may last is given up, with the last error', async () => {
    await expect(pullUntil(86_404_000, () => 1)).rejects.toMatchObject({
      reason: 'registry_unavailable',
      message:
        'registry.example: the image did not arrive within 24 hours; the last request failed: registry.example: refused',
    })
  })

  it('is not asked by 1,000 devices in one burst when it is back', async () => {
    const perTenth = new Map<number, number>()
    const chance = createChance()
    for (let device = 0; device < 1000; device++) {
      const tenth = Math.floor(((await pullUntil(60_000, chance)) - 60_000) / 100)
      perTenth.set(tenth, (perTenth.get(tenth) ?? 0) + 1)
    }
    // Evenly over three seconds, it would be 33.
    expect(Math.max(...perTenth.values())).toBeLessThan(75)
    expect(Math.max(...perTenth.keys())).toBeLessThan(40)
  })

  it('and closes connections without an answer is asked less often: it is there', async () => {
    const reset = unavailable(url, 'reset', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    expect([delayOf(refused(), 10, 1), delayOf(reset, 10, 1)]).toEqual([4000, 60_000])
  })
})
