/** Uploads that continue after a cut, to a server that keeps what has arrived. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcmPaths } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { randomOf } from '../../../../tests/harness/seed.ts'
import { deployUpload, type Patience, sendInParts } from './in-parts.ts'
import { uploadImage } from './upload-image.ts'

const content = randomOf('in-parts').bytes(3_000_000)
const place = `${mcmPaths.uploads}/1`

let folder: string
let path: string
let server: Server
/** Method and, of bytes, where they begin. */
let heard: string[]
let stored: Buffer
let waits: number[]
/** Methods of requests that do not state the version of tus. */
let unversioned: string[]
let begun: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'selvedge-parts-'))
  path = join(folder, 'archive.tar')
  writeFileSync(path, content)
  heard = []
  stored = Buffer.alloc(0)
  waits = []
  unversioned = []
  begun = 0
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true })
})

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/** Answers as the runtime does. @param other what a request gets in place of that; the usual answer if it returns true */
async function listen(other: Handler = () => true) {
  server = createServer(async (request, response) => {
    request.on('error', () => undefined)
    const { method, headers } = request
    heard.push(headers['upload-offset'] === undefined ? method! : `${method} ${headers['upload-offset']}`)
    if (headers['tus-resumable'] !== '1.0.0') unversioned.push(method!)
    if ((await other(request, response)) !== true) return
    if (method === 'POST') response.writeHead(201, { Location: `${mcmPaths.uploads}/${++begun}` }).end()
    else if (method === 'HEAD') response.writeHead(200, { 'Upload-Offset': stored.length }).end()
    else await store(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, edgeAccessToken: 'x' }
}

/** @param most bytes after which the connection breaks */
async function store(request: IncomingMessage, response: ServerResponse, most = Number.POSITIVE_INFINITY) {
  let left = most
  for await (const chunk of request as AsyncIterable<Buffer>) {
    stored = Buffer.concat([stored, chunk.subarray(0, left)])
    left -= chunk.length
    if (left <= 0) return response.destroy()
  }
  return response.writeHead(204, { 'Upload-Offset': stored.length }).end()
}

const patient: Patience = {
  wait: async (ms) => waits.push(ms),
  random: () => 1,
  onWait: () => undefined,
}
const file = (onProgress: (sent: number) => void = () => undefined) => ({
  ...{ path, size: content.length, onProgress },
})
const error = (reason: string, message: string) => JSON.stringify({ error: { reason, message } })

describe('an upload in parts', () => {
  it('that is not cut is one request, with the name of the file', async () => {
    let metadata: unknown
    let sent: unknown
    const connection = await listen(({ method, headers }) => {
      if (method === 'POST') metadata = [headers['upload-metadata'], headers['upload-length']]
      else sent = [headers['content-type'], headers['content-length'], headers.expect]
      return true
    })
    expect(await sendInParts(connection, file(), patient)).toBe('upload:1')
    expect(heard).toEqual(['POST', 'PATCH 0'])
    expect(unversioned).toEqual([])
    expect(stored.equals(content)).toBe(true)
    expect(metadata).toEqual([`filename ${Buffer.from('archive.tar').toString('base64')}`, '3000000'])
    expect(sent).toEqual(['application/offset+octet-stream', '3000000', '100-continue'])
  })

  it('sends each byte once that arrived, however often the connection breaks', async () => {
    const announced: number[] = []
    const connection = await listen((request, response) => {
      if (request.method !== 'PATCH') return true
      announced.push(Number(request.headers['content-length']) + Number(request.headers['upload-offset']))
      return void store(request, response, 200_000)
    })
    const shown: number[] = []
    expect(
      await sendInParts(
        connection,
        file((sent) => shown.push(sent)),
        patient,
      ),
    ).toBe('upload:1')
    const positions = Array.from({ length: 15 }, (_, at) => [`PATCH ${at * 200_000}`, 'HEAD']).flat()
    expect(unversioned).toEqual([])
    expect(heard.slice(0, -1)).toEqual(['POST', ...positions].slice(0, heard.length - 1))
    expect(stored.equals(content)).toBe(true)
    expect(new Set(announced)).toEqual(new Set([content.length]))
    expect(Math.max(...shown)).toBe(content.length)
    // Bytes that arrived begin a new count.
    expect(Math.max(...waits)).toBe(500)
  })

  it('begins again where the runtime has forgotten it', async () => {
    let isForgotten = false
    const connection = await listen((request, response) => {
      if (request.method === 'PATCH' && heard.length === 2) return void store(request, response, 1_000_000)
      if (request.method !== 'HEAD' || isForgotten) return true
      isForgotten = true
      stored = Buffer.alloc(0)
      return void response.writeHead(404).end()
    })
    expect(await sendInParts(connection, file(), patient)).toBe('upload:2')
    expect(heard).toEqual(['POST', 'PATCH 0', 'HEAD', 'POST', 'PATCH 0'])
    expect(stored.equals(content)).toBe(true)
  })

  it('continues when a runtime that was forgetful answers again', async () => {
    let begins = 0
    const connection = await listen(({ method }, response) => {
      if (method === 'PATCH' && heard.length === 2) return response.destroy()
      if (method === 'HEAD') return response.writeHead(404).end()
      // It stops again before another upload begins.
      if (method === 'POST' && ++begins === 2) return response.destroy()
      return true
    })
    expect(await sendInParts(connection, file(), patient)).toBe('upload:2')
    expect(heard).toEqual(['POST', 'PATCH 0', 'HEAD', 'POST', 'POST', 'PATCH 0'])
    expect(waits).toEqual([500, 1000])
  })

  it('ends if a runtime that has it no more begins no other one', async () => {
    const connection = await listen(({ method }, response) => {
      if (method === 'POST' && heard.length === 1) return true
      if (method === 'POST') return response.writeHead(507).end(error('storage_full', 'full'))
      return method === 'HEAD' ? response.writeHead(404).end() : response.destroy()
    })
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({
      ...{ reason: 'refused', message: 'the runtime has no upload any more, and begins no other one' },
    })
    expect(waits).toEqual([500])
  })

  it.each([429, 502, 503, 504])('waits while HEAD is answered with %i', async (status) => {
    let heads = 0
    const connection = await listen((request, response) => {
      if (request.method === 'PATCH' && heard.length === 2) return void store(request, response, 1_000_000)
      if (request.method === 'HEAD' && ++heads <= 3) return response.writeHead(status).end()
      return true
    })
    expect(await sendInParts(connection, file(), patient)).toBe('upload:1')
    expect(heard.slice(0, 6)).toEqual(['POST', 'PATCH 0', 'HEAD', 'HEAD', 'HEAD', 'HEAD'])
    expect(waits).toEqual([500, 1000, 2000, 4000])
    expect(stored.equals(content)).toBe(true)
  })

  describe('with a token that expires', () => {
    /** A runtime that accepts the token for so many requests, and each next one for as many. */
    async function expiring(requests: number, newToken: () => Promise<string>) {
      let token = 'x'
      const tokens: (string | undefined)[] = []
      let left = requests
      let accepted = 'Bearer x'
      const connection = await listen((request, response) => {
        const { authorization } = request.headers
        tokens.push(authorization)
        if (authorization !== accepted && authorization === `Bearer ${token}`) {
          accepted = authorization
          left = requests
        }
        if (authorization !== accepted || left-- <= 0)
          return response.writeHead(401).end(error('token_expired', 'it has expired'))
        if (request.method === 'PATCH') return void store(request, response, 1_000_000)
        return true
      })
      return {
        tokens,
        connection: {
          url: connection.url,
          get edgeAccessToken() {
            return token
          },
          async renew() {
            token = await newToken()
          },
        },
      }
    }

    it('continues with the next one, without a byte sent twice', async () => {
      let at = 0
      const { connection, tokens } = await expiring(2, async () => `next ${++at}`)
      expect(await sendInParts(connection, file(), patient)).toBe('upload:1')
      expect(stored.equals(content)).toBe(true)
      expect(at).toBeGreaterThanOrEqual(2)
      expect(new Set(tokens).size).toBe(at + 1)
    })

    it.each<[string, () => Promise<string>]>([
      ['there is no other one', async () => 'x'],
      ['it cannot be renewed', () => Promise.reject(new Error('no identity service'))],
    ])('ends with the refusal if %s', async (_, newToken) => {
      const { connection } = await expiring(1, newToken)
      await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({
        ...{ kind: 'rpc', reason: 'token_expired' },
      })
      expect(waits).toEqual([])
    })
  })

  it('waits longer each time, and gives up with the last cause', async () => {
    const connection = await listen(({ method }, response) =>
      method === 'PATCH' ? response.destroy() : true,
    )
    const causes: string[] = []
    const shown: number[] = []
    const onWait = ({ message }: Error, seconds: number) => {
      causes.push(message)
      shown.push(seconds)
    }
    await expect(sendInParts(connection, file(), { ...patient, onWait })).rejects.toMatchObject({
      ...{ kind: 'connection', reason: 'bad_answer' },
    })
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, ...Array(5).fill(60_000)])
    expect(shown).toEqual([1, 1, 2, 4, 8, 16, 32, ...Array(5).fill(60)])
    expect(causes).toHaveLength(12)
    expect(causes[0]).toContain('closed the connection without an answer')
  })

  it('waits half of that at least', async () => {
    const connection = await listen((request, response) =>
      request.method === 'PATCH' && heard.length === 2 ? response.destroy() : true,
    )
    expect(await sendInParts(connection, file(), { ...patient, random: () => 0 })).toBe('upload:1')
    expect(waits).toEqual([250])
  })

  it('continues after bytes that another request had already brought', async () => {
    const connection = await listen((request, response) => {
      if (request.method !== 'PATCH' || heard.length > 2) return true
      stored = content.subarray(0, 1_000_000)
      return response.writeHead(409).end(error('conflict', 'it has 1000000 bytes'))
    })
    expect(await sendInParts(connection, file(), patient)).toBe('upload:1')
    expect(heard).toEqual(['POST', 'PATCH 0', 'HEAD', 'PATCH 1000000'])
    expect(stored.equals(content)).toBe(true)
  })

  it('ends when the runtime refuses to say how much arrived', async () => {
    const connection = await listen(({ method }, response) => {
      if (method === 'POST') return true
      if (method === 'HEAD') return response.writeHead(401, { 'Upload-Offset': '0' }).end()
      return response.destroy()
    })
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({
      ...{ kind: 'connection', reason: 'refused', message: 'the runtime answered HTTP 401' },
    })
    expect(waits).toEqual([500])
  })

  it.each<[string, number | undefined]>([
    ['forgets the upload', undefined],
    ['has fewer bytes than before', 0],
  ])('gives up when the runtime %s again and again', async (_, offset) => {
    let heads = 0
    const connection = await listen((request, response) => {
      if (request.method === 'POST') return true
      if (request.method === 'PATCH') return response.destroy()
      const found = heads++ % 2 === 0 ? 1000 : offset
      if (found === undefined) return response.writeHead(404).end()
      return response.writeHead(200, { 'Upload-Offset': found }).end()
    })
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({ reason: 'bad_answer' })
    expect(heads).toBe(12)
  })

  it('also gives up if only HEAD fails', async () => {
    const connection = await listen(({ method }, response) => {
      if (method === 'POST') return true
      if (method === 'HEAD') response.writeHead(200, { 'Upload-Offset': '1e3' }).end()
      return response.destroy()
    })
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({
      ...{ reason: 'bad_answer', message: 'the runtime answered HTTP 200 with no Upload-Offset' },
    })
    expect(waits).toHaveLength(12)
  })

  it.each<[string, number, string, string]>([
    ['a token that was refused', 401, 'token_expired', 'it has expired'],
    ['a full disk', 507, 'storage_full', 'the disk is full'],
  ])('ends at once with %s', async (_, status, reason, message) => {
    const connection = await listen(({ method }, response) =>
      method === 'PATCH' ? response.writeHead(status).end(error(reason, message)) : true,
    )
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({ reason, message })
    expect(waits).toEqual([])
  })

  it.each<[string, Handler]>([
    ['knows no uploads', (_, response) => response.writeHead(404).end(error('not_found', 'nothing'))],
    ['stores it as a whole', (_, response) => response.end('{"handle":"upload:0","size":0}')],
    [
      'names another host',
      (_, response) => response.writeHead(201, { Location: 'http://127.0.0.1:1/' }).end(),
    ],
    ['names no place', (_, response) => response.writeHead(201).end()],
    ['names another path', (_, response) => response.writeHead(201, { Location: '/other/1' }).end()],
    ['names a place and made no upload', (_, response) => response.writeHead(200, { Location: place }).end()],
    [
      'names a place elsewhere',
      (_, response) => response.writeHead(201, { Location: `${place}/../../x` }).end(),
    ],
  ])('is not sent to a runtime that %s', async (_, handler) => {
    expect(await sendInParts(await listen(handler), file(), patient)).toBeUndefined()
    expect(heard).toEqual(['POST'])
  })

  it('is not continued beyond its end', async () => {
    const connection = await listen(async (request, response) => {
      if (request.method !== 'PATCH') return true
      await request.resume().toArray()
      return response.writeHead(204, { 'Upload-Offset': content.length + 1 }).end()
    })
    await expect(sendInParts(connection, file(), patient)).rejects.toMatchObject({ reason: 'bad_answer' })
  })
})

describe('the deployment of an upload', () => {
  it('is requested again if its answer was lost, and when the runtime is busy', async () => {
    const bodies: string[] = []
    const connection = await listen(async (request, response) => {
      expect(request.headers['content-type']).toBe('application/json')
      bodies.push(String(Buffer.concat(await request.toArray())))
      if (bodies.length === 1) return response.destroy()
      if (bodies.length === 2) return response.writeHead(503).end(error('busy', 'others first'))
      return response.end('{"id":"deployed"}')
    })
    expect(await deployUpload(connection, 'upload:1', 'named', patient)).toEqual({ id: 'deployed' })
    expect(bodies).toEqual(Array(3).fill('{"source":"upload:1","name":"named"}'))
    expect(waits).toEqual([500, 1000])
  })

  it('ends with what is wrong with the image', async () => {
    const connection = await listen(async (request, response) => {
      expect(String(Buffer.concat(await request.toArray()))).toBe('{"source":"upload:1"}')
      return response.writeHead(400).end(error('invalid_image', 'no manifest'))
    })
    await expect(deployUpload(connection, 'upload:1', undefined, patient)).rejects.toMatchObject({
      ...{ kind: 'rpc', reason: 'invalid_image', message: 'no manifest' },
    })
    expect(readFileSync(path)).toHaveLength(content.length)
  })
})

describe('an archive', () => {
  /** Type, name and expectation of one that is sent as a whole. */
  let described: unknown

  /** What the server hears of an archive of so many bytes. */
  async function upload(size: number, name?: string) {
    writeFileSync(path, Buffer.alloc(size))
    const connection = await listen(async (request, response) => {
      const { method, url, headers } = request
      if (!url!.startsWith(mcmPaths.images)) return true
      const type = headers['content-type']
      if (type !== 'application/json') described = [type, headers['content-disposition'], headers.expect]
      const body = await request.toArray()
      const bytes = Buffer.concat(body).length
      heard.splice(-1, 1, `${method} ${url} ${type === 'application/json' ? String(body) : bytes}`)
      return response.end('{"id":"deployed"}')
    })
    expect(await uploadImage(connection, path, undefined, name)).toEqual({ id: 'deployed' })
    return heard
  }

  it.each([
    [undefined, ''],
    ['my name', '?name=my%20name'],
  ])('of 8 MB is one request, with the name %s', async (name, query) => {
    expect(await upload(8_000_000, name)).toEqual([`POST ${mcmPaths.images}${query} 8000000`])
    const disposition = "attachment; filename*=UTF-8''archive.tar"
    expect(described).toEqual(['application/x-tar', disposition, '100-continue'])
  })

  it('of more is sent in parts, and deployed', async () => {
    expect(await upload(8_000_001, 'mine')).toEqual([
      ...['POST', 'PATCH 0', `POST ${mcmPaths.images} {"source":"upload:1","name":"mine"}`],
    ])
    expect(stored).toHaveLength(8_000_001)
  })
  it('is tried again when the connection breaks, and the caller learns when', async () => {
    writeFileSync(path, Buffer.alloc(8_000_001))
    const broken = new Set<string>()
    const connection = await listen(async (request, response) => {
      const { method, url } = request
      const what = method === 'PATCH' ? 'parts' : 'deployment'
      if (method === 'HEAD' || url === mcmPaths.uploads) return true
      if (!broken.has(what)) {
        broken.add(what)
        return response.destroy()
      }
      if (method === 'PATCH') return true
      await request.resume().toArray()
      return response.end('{"id":"deployed"}')
    })
    const seconds: number[] = []
    const onWait = (_: Error, each: number) => seconds.push(each)
    expect(await uploadImage(connection, path, undefined, undefined, onWait)).toEqual({ id: 'deployed' })
    expect(seconds).toEqual([1, 1])
  })
})
