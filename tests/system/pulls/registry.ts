/** A registry with one image that answers as badly as its test wants, and counts the bytes of layers that it sends. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { randomOf } from '../../harness/seed.ts'

/** How one request of a layer is answered. What is left out is as it should be. */
interface Fault {
  /** Bytes of the answer after which the connection is closed. */
  readonly cutAfterBytes?: number
  /** Bytes of the answer after which nothing more is sent, and the connection stays open. */
  readonly silentAfterBytes?: number
  /** A range is answered with 200 and all bytes. */
  readonly isWithoutRanges?: boolean
  /** A range is answered with other bytes than those of the layer. */
  readonly hasOtherBytes?: boolean
  /** 429 in place of the layer. */
  readonly retryAfterSeconds?: number
  readonly bytesPerSecond?: number
}

interface LayerRequest {
  /** Bytes of the layer. */
  readonly size: number
  /** First byte that is requested. */
  readonly from: number
  /** Requests of this layer before this one. */
  readonly earlier: number
}

export interface RegistryOptions {
  /** Distinguishes the content of the image from that of others. */
  readonly name: string
  readonly fault: (asked: LayerRequest) => Fault
  /** Tokens are necessary, and expire after so many seconds, as they announce. */
  readonly tokenSeconds?: number
  /** Of each layer; left out: 20 and 8 MB. */
  readonly layerBytes?: readonly number[]
}

export interface FaultyRegistry {
  /** Host, port, repository and tag of the image. */
  readonly reference: string
  /** Bytes of all layers. */
  readonly imageBytes: number
  /** Bytes of layers that were sent. */
  sentBytes(): number
  /** Closes all connections, and accepts no other until the function that it returns is called. */
  goDown(): Promise<() => Promise<void>>
  stop(): void
}

const usualLayerBytes = [20_000_000, 8_000_000] as const
const chunkBytes = 64 * 1024
const usualBytesPerSecond = 8_000_000

export async function startFaultyRegistry(options: RegistryOptions): Promise<FaultyRegistry> {
  const image = makeImage(options.name, options.layerBytes ?? usualLayerBytes)
  const tokens = createTokens(options.tokenSeconds)
  const requests = new Map<string, number>()
  let sent = 0

  async function sendLayer(digest: string, request: IncomingMessage, response: ServerResponse) {
    const content = image.blobOf(digest)
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const earlier = requests.get(digest) ?? 0
    requests.set(digest, earlier + 1)
    const fault = options.fault({ size: content.length, from, earlier })
    if (fault.retryAfterSeconds !== undefined)
      return response.writeHead(429, { 'Retry-After': fault.retryAfterSeconds }).end()
    const first = fault.isWithoutRanges ? 0 : from
    const range = `bytes ${first}-${content.length - 1}/${content.length}`
    response.writeHead(first > 0 ? 206 : 200, {
      'Content-Length': content.length - first,
      ...(first > 0 && { 'Content-Range': range }),
    })
    const rest = content.subarray(first)
    const body = fault.hasOtherBytes && first > 0 ? Buffer.from(rest.map((byte) => byte ^ 1)) : rest
    await send(body, fault, response, (bytes) => {
      sent += bytes
    })
  }

  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    const { pathname } = new URL(request.url ?? '', 'http://registry')
    const { authorization } = request.headers
    if (pathname === '/token') return response.end(tokens.issue())
    if (!tokens.isValid(authorization)) {
      const realm = `http://${host}/token`
      const challenge = `Bearer realm="${realm}",service="s",scope="repository:team/app:pull"`
      return response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
    }
    if (pathname === '/v2/') return response.end('{}')
    const [digest] = /sha256:[0-9a-f]{64}$/.exec(pathname) ?? []
    if (pathname.includes('/manifests/')) {
      response.setHeader('Docker-Content-Digest', image.manifest.digest)
      response.setHeader('Content-Type', image.manifest.mediaType)
      return response.end(image.blobOf(image.manifest.digest))
    }
    if (digest !== undefined && image.layers.includes(digest)) return sendLayer(digest, request, response)
    return response.end(digest === undefined ? undefined : image.blobOf(digest))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return {
    reference: `${host}/team/${options.name}:1`,
    imageBytes: image.layers.reduce((sum, digest) => sum + image.blobOf(digest).length, 0),
    sentBytes: () => sent,
    async goDown() {
      const closed = once(server, 'close')
      close()
      await closed
      return () => listen(port)
    },
    stop: close,
  }
}

/** Sends a body at a rate, as far as its fault allows. */
async function send(
  body: Buffer,
  { cutAfterBytes, silentAfterBytes, bytesPerSecond = usualBytesPerSecond }: Fault,
  response: ServerResponse,
  onSent: (bytes: number) => void,
): Promise<unknown> {
  const end = Math.min(body.length, cutAfterBytes ?? body.length, silentAfterBytes ?? body.length)
  // Parts of 10 ms, as on a line of that rate: of one that was just sent, nothing may have arrived.
  const step = Math.min(chunkBytes, Math.ceil(bytesPerSecond / 100))
  for (let at = 0; at < end && !response.destroyed; ) {
    const chunk = body.subarray(at, Math.min(end, at + step))
    at += chunk.length
    // Awaited: bytes in memory here would count, and never arrive.
    await new Promise((resolve) => response.write(chunk, resolve))
    onSent(chunk.length)
    await sleep((chunk.length / bytesPerSecond) * 1000)
  }
  if (end === body.length) return response.end()
  return silentAfterBytes === undefined ? response.destroy() : undefined
}

function makeImage(name: string, layerBytes: readonly number[]) {
  const random = randomOf(`pulls ${name}`)
  const layers = layerBytes.map((bytes, at) => tarOf([{ path: `data${at}`, content: random.bytes(bytes) }]))
  const files = layoutFiles({ layers, config: { Cmd: ['/hello'] } })
  const blobs = new Map(files.map(({ path, content = '' }) => [path, Buffer.from(content)]))
  const blobOf = (digest: string) => blobs.get(`blobs/${digest.replace(':', '/')}`) ?? Buffer.alloc(0)
  const [manifest] = JSON.parse(String(blobs.get('index.json'))).manifests
  const found: { layers: { digest: string }[] } = JSON.parse(String(blobOf(manifest.digest)))
  return {
    manifest: manifest as { readonly digest: string; readonly mediaType: string },
    layers: found.layers.map(({ digest }) => digest),
    blobOf,
  }
}

/** Tokens that expire; without a number of seconds, no token is necessary. */
function createTokens(seconds: number | undefined) {
  const issued = new Map<string, number>()
  return {
    issue() {
      const token = `token${issued.size}`
      issued.set(`Bearer ${token}`, performance.now())
      return JSON.stringify({ token, expires_in: seconds })
    },
    isValid: (authorization = '') =>
      seconds === undefined ||
      performance.now() - (issued.get(authorization) ?? Number.NEGATIVE_INFINITY) < seconds * 1000,
  }
}
