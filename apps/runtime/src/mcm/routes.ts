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
import { allowLargeBody, readBody } from '@selvedge/service-kit/http'
import type { Containers } from '../containers/containers.ts'
import type { Images } from '../images/images.ts'
import type { Routes } from '../rest/rest.ts'
import { receiveImage } from './receive-image.ts'

export interface McmParts {
  readonly images: Images
  readonly containers: Containers
}

const maxBody = 256 * 1024
const defaultTail = 100

export function mcmRoutes({ images, containers }: McmParts): Routes {
  const { images: imagesPath, uploads, containers: containersPath } = mcmPaths
  const table: Routes['table'] = {
    [`GET ${imagesPath}`]: async ({ owner }) => ({ data: images.list(owner) }),
    [`POST ${imagesPath}`]: async ({ owner, request }) => {
      allowLargeBody(request)
      return receiveImage(request, {
        archive: (content, length) => images.receive(owner, content, length),
        source: (source) => images.deploy(owner, source),
      })
    },
    [`GET ${imagesPath}/{id}`]: async ({ owner, id }) => {
      const image = images.list(owner).find((each) => each.id === id)
      if (!image) throw new RpcError('not_found', `there is no image ${JSON.stringify(id)}`)
      return image
    },
    [`DELETE ${imagesPath}/{id}`]: ({ owner, id }) => images.remove(owner, id),
    [`POST ${uploads}`]: async ({ request }) => {
      allowLargeBody(request)
      // What is left of a refused upload is for the answer to drain: an iterator that ends would destroy the connection.
      const content = request.iterator({ destroyOnReturn: false })
      return images.upload(content, Number(request.headers['content-length'] ?? 0))
    },
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
  return { prefix: mcmPaths.prefix, access: methods.getImages.access, table }
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
