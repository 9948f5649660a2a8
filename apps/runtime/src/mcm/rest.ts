/** The REST twins of the image and container methods, for clients of this API family and for what JSON-RPC can't carry: streams. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type ContainerSpec,
  containerSpec,
  expectedSpec,
  type LogLine,
  mcmPaths,
  methods,
  RpcError,
} from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { readBody, sendJson } from '@selvedge/service-kit/http'
import type { Containers } from '../containers/containers.ts'
import { provenRequest, readToken } from '../gateway/read-token.ts'
import { sendError, sendRefusal } from '../gateway/refusal.ts'
import type { Images } from '../images/images.ts'
import type { Authorize } from '../tokens/authorize.ts'
import { receiveImage } from './receive-image.ts'

export interface RestParts {
  readonly images: Images
  readonly containers: Containers
  readonly authorize: Authorize
  /** The next DPoP nonce, for callers whose proof was refused. */
  readonly nonce: () => string
  readonly onInternalError: (cause: unknown) => string
}

const maxBody = 256 * 1024
const defaultTail = 100

type Handle = (call: {
  readonly owner: AccessClaims
  readonly id: string
  readonly query: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
}) => Promise<unknown>

/** Method and path, with `{id}` for the id of a thing. What a handler gives is the answer; undefined where it has answered. */
type Table = Readonly<Record<string, Handle>>

function tableOf({ images, containers }: RestParts): Table {
  const { images: imagesPath, uploads, containers: containersPath } = mcmPaths
  return {
    [`GET ${imagesPath}`]: async ({ owner }) => ({ data: images.list(owner) }),
    [`POST ${imagesPath}`]: async ({ owner, request }) =>
      receiveImage(request, {
        archive: (content, length) => images.receive(owner, content, length),
        source: (source) => images.deploy(owner, source),
      }),
    [`GET ${imagesPath}/{id}`]: async ({ owner, id }) => {
      const image = images.list(owner).find((each) => each.id === id)
      if (!image) throw new RpcError('not_found', `there is no image ${JSON.stringify(id)}`)
      return image
    },
    [`DELETE ${imagesPath}/{id}`]: ({ owner, id }) => images.remove(owner, id),
    [`POST ${uploads}`]: async ({ request }) =>
      images.upload(request, Number(request.headers['content-length'] ?? 0)),
    [`GET ${containersPath}`]: async ({ owner }) => ({ data: await containers.list(owner) }),
    [`POST ${containersPath}`]: async ({ owner, request }) =>
      containers.deploy(owner, await readSpec(request)),
    [`GET ${containersPath}/{id}`]: ({ owner, id }) => containers.get(owner, id),
    [`DELETE ${containersPath}/{id}`]: ({ owner, id }) => containers.remove(owner, id),
    [`POST ${containersPath}/{id}/start`]: ({ owner, id }) => containers.start(owner, id),
    [`POST ${containersPath}/{id}/stop`]: ({ owner, id }) => containers.stop(owner, id),
    [`GET ${containersPath}/{id}/logs`]: async ({ owner, id, query, response }) => {
      const log = containers.logs(owner, id)
      const since = query.get('since')
      const lines = log.tail(
        Number(query.get('tail') ?? defaultTail) || defaultTail,
        since === null ? 0 : Date.parse(since) || 0,
      )
      if (query.get('follow') !== 'true') return { lines }
      return follow(response, lines, log.follow)
    },
    [`GET ${containersPath}/{id}/history`]: async ({ owner, id }) => containers.history(owner, id),
  }
}

/** Gives false where the path is not of this API. */
export type Rest = (request: IncomingMessage, response: ServerResponse) => boolean

export function createRest(parts: RestParts): Rest {
  const table = tableOf(parts)
  const patterns = Object.keys(table).map((key) => {
    const [method = '', path = ''] = key.split(' ')
    return { key, method, path: new RegExp(`^${path.replace('{id}', '([^/]+)')}$`) }
  })

  return (request, response) => {
    const { url = '', method = '' } = request
    if (!url.startsWith(`${mcmPaths.prefix}/`)) return false
    const { pathname, searchParams: query } = new URL(url, 'http://localhost')
    const matches = patterns.filter(({ path }) => path.test(pathname))
    const match = matches.find((each) => each.method === method)
    const fail = (cause: unknown) => {
      if (request.headers.dpop !== undefined) response.setHeader('DPoP-Nonce', parts.nonce())
      request.resume()
      response.setHeader('Connection', 'close')
      sendError(response, cause, parts.onInternalError)
    }
    if (matches.length === 0)
      fail(new RpcError('not_found', `there is nothing at ${JSON.stringify(pathname.slice(0, 200))}`))
    else if (!match) {
      const allow = matches.map((each) => each.method).join(', ')
      request.resume()
      sendRefusal(response, {
        status: 405,
        reason: 'method_not_allowed',
        message: `send ${allow}`,
        headers: { Allow: allow },
      })
    } else {
      const run = async () => {
        const token = readToken(request.headers.authorization)
        if (token === undefined)
          throw new RpcError('token_missing', 'send "Authorization: Bearer <access token>"')
        const owner = await parts.authorize(token, methods.getImages.access, provenRequest(request))
        const id = decodeURIComponent(match.path.exec(pathname)![1] ?? '')
        const result = await table[match.key]!({ owner, id, query, request, response })
        if (result !== undefined) sendJson(response, 200, JSON.stringify(result))
      }
      run().catch(fail)
    }
    return true
  }
}

/** Lines as they come, one JSON object a line, until the client has enough. */
async function follow(
  response: ServerResponse,
  lines: readonly LogLine[],
  start: (onLine: (line: LogLine) => void) => () => void,
): Promise<undefined> {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' })
  response.flushHeaders()
  const send = (line: LogLine) => void response.write(`${JSON.stringify(line)}\n`)
  lines.forEach(send)
  response.on('close', start(send))
  return undefined
}

function readSpec(request: IncomingMessage): Promise<ContainerSpec> {
  return new Promise((resolve, reject) => {
    readBody(request, maxBody, (body) => {
      if (!body) return reject(new RpcError('limit_exceeded', `the body is larger than ${maxBody} bytes`))
      let json: unknown
      try {
        json = JSON.parse(body.toString())
      } catch (cause) {
        return reject(new RpcError('invalid_params', `the body is not JSON: ${(cause as Error).message}`))
      }
      const read = containerSpec.safeParse(json)
      if (read.success) resolve(read.data)
      else {
        const [issue] = read.error.issues
        reject(
          new RpcError(
            'invalid_params',
            `${issue?.path.join('.') || 'the spec'}: ${issue?.message}; expected ${expectedSpec}`,
          ),
        )
      }
    })
  })
}
