/** The REST twins of the image and container methods, for clients of this API family and for what JSON-RPC can't carry: streams. */
import type { IncomingMessage } from 'node:http'
import {
  type ContainerSpec,
  containerSpec,
  expectedSpec,
  mcmPaths,
  methods,
  RpcError,
} from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { allowLargeBody } from '@selvedge/service-kit/http'
import type { Containers } from '../containers/containers.ts'
import type { Images } from '../images/images.ts'
import type { Routes } from '../rest/rest.ts'
import { followLog } from './follow-log.ts'
import { readJsonBody } from './read-json-body.ts'
import { receiveImage, uploadOf } from './receive-image.ts'

export interface McmParts {
  readonly images: Images
  readonly containers: Containers
  readonly clock: Clock
}

const maxBody = 256 * 1024
const defaultTail = 100

export function mcmRoutes({ images, containers, clock }: McmParts): Routes {
  const { images: imagesPath, uploads, containers: containersPath } = mcmPaths
  const table: Routes['table'] = {
    [`GET ${imagesPath}`]: {
      as: methods.getImages,
      handle: async ({ owner }) => ({ data: images.list(owner) }),
    },
    [`POST ${imagesPath}`]: {
      as: methods.deployImage,
      handle: async ({ owner, request }) => {
        allowLargeBody(request)
        return receiveImage(request, {
          archive: (content, length) => images.receive(owner, content, length),
          source: (source) => images.deploy(owner, source),
        })
      },
    },
    [`GET ${imagesPath}/{id}`]: {
      as: methods.getImages,
      handle: async ({ owner, id }) => {
        const image = images.list(owner).find((each) => each.id === id)
        if (!image) throw new RpcError('not_found', `there is no image ${JSON.stringify(id)}`)
        return image
      },
    },
    [`DELETE ${imagesPath}/{id}`]: {
      as: methods.removeImage,
      handle: ({ owner, id }) => images.remove(owner, id),
    },
    [`POST ${uploads}`]: {
      as: methods.deployImage,
      handle: async ({ owner, request }) => {
        allowLargeBody(request)
        return images.upload(owner, uploadOf(request), Number(request.headers['content-length'] ?? 0))
      },
    },
    [`GET ${containersPath}`]: {
      as: methods.getContainers,
      handle: async ({ owner }) => ({ data: await containers.list(owner) }),
    },
    [`POST ${containersPath}`]: {
      as: methods.deployContainer,
      handle: async ({ owner, request }) => containers.deploy(owner, await readSpec(request)),
    },
    [`GET ${containersPath}/{id}`]: {
      as: methods.getContainers,
      handle: ({ owner, id }) => containers.get(owner, id),
    },
    [`DELETE ${containersPath}/{id}`]: {
      as: methods.removeContainer,
      handle: ({ owner, id }) => containers.remove(owner, id),
    },
    [`POST ${containersPath}/{id}/start`]: {
      as: methods.startContainer,
      handle: ({ owner, id }) => containers.start(owner, id),
    },
    [`POST ${containersPath}/{id}/stop`]: {
      as: methods.stopContainer,
      handle: ({ owner, id }) => containers.stop(owner, id),
    },
    [`GET ${containersPath}/{id}/logs`]: {
      as: methods.getContainerLogs,
      handle: async ({ owner, id, query, response, endWithCaller }) => {
        const log = containers.logs(owner, id)
        const tail = Number(query.get('tail') ?? defaultTail) || defaultTail
        const lines = log.tail(tail, readSince(query.get('since')))
        if (query.get('follow') !== 'true') return { lines }
        const expectSame = () => {
          // A container that was removed, and deployed anew under its name, has another log.
          if (containers.logs(owner, id) !== log) throw new RpcError('not_found', 'the container was removed')
        }
        const endWhen = (end: (cause: RpcError) => void) => endWithCaller(end, expectSame)
        followLog(response, { log, lines, now: () => isoTime(clock.now()), endWhen })
        return undefined
      },
    },
    [`GET ${containersPath}/{id}/history`]: {
      as: methods.getContainerHistory,
      handle: async ({ owner, id }) => containers.history(owner, id),
    },
  }
  return { prefix: mcmPaths.prefix, table }
}

/** @returns Unix milliseconds; 0 without a time. @throws RpcError `invalid_params` */
function readSince(text: string | null): number {
  const time = text === null ? 0 : Date.parse(text)
  if (!Number.isNaN(time)) return time
  const shown = JSON.stringify(text?.slice(0, 100))
  throw new RpcError(
    'invalid_params',
    `since: ${shown}; expected an ISO 8601 time such as 2026-01-31T12:00:00Z`,
  )
}

/** @throws RpcError `limit_exceeded` | `invalid_params` */
async function readSpec(request: IncomingMessage): Promise<ContainerSpec> {
  const read = containerSpec.safeParse(await readJsonBody(request, maxBody))
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new RpcError(
    'invalid_params',
    `${issue?.path.join('.') || 'the spec'}: ${issue?.message}; expected ${expectedSpec}`,
  )
}
