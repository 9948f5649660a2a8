/** The REST twins of the image and container methods, for clients of this API family and for what JSON-RPC can't carry: streams. */
import { describeState, expectedImageName, imageName, mcmPaths, methods, RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { allowLargeBody } from '@selvedge/service-kit/http'
import type { Apps } from '../../services/apps/apps.ts'
import type { Containers } from '../../services/containers/containers.ts'
import type { Images } from '../../services/images/images.ts'
import { oneOf, time } from '../rest/query.ts'
import { type Routes, withQuery } from '../rest/rest.ts'
import { followLog } from './follow-log.ts'
import { readDeployment } from './read-plan.ts'
import { readSpec } from './read-spec.ts'
import { fileNameOf, receiveImage, uploadOf } from './receive-image.ts'
import { beginUpload, isTus, resumableRoutes } from './resumable.ts'

export interface McmParts {
  readonly images: Images
  readonly containers: Containers
  readonly apps: Omit<Apps, 'forget' | 'dropSecrets' | 'dropConfigs'>
  readonly clock: Clock
}

/** Lines of a log. */
const defaultTail = 100

const { schema: tailSchema, expected: expectedTail } = methods.getContainerLogs.params[2]
const logsQuery = {
  tail: { expected: expectedTail, read: (text: string) => tailSchema.safeParse(text).data },
  since: time,
  follow: oneOf(['true', 'false']),
}

const imagesQuery = {
  name: { expected: expectedImageName, read: (text: string) => imageName.safeParse(text).data },
}

export function mcmRoutes({ images, containers, apps, clock }: McmParts): Routes {
  const { images: imagesPath, uploads, containers: containersPath } = mcmPaths
  const table: Routes['table'] = {
    [`GET ${imagesPath}`]: {
      as: methods.getImages,
      handle: async ({ owner }) => ({ data: images.list(owner) }),
    },
    [`POST ${imagesPath}`]: {
      as: methods.deployImage,
      ...withQuery(imagesQuery, async ({ owner, request, query: { name: given } }) => {
        allowLargeBody(request)
        return receiveImage(
          request,
          { given, file: fileNameOf(request) },
          {
            archive: (content, length, naming) => images.receive(owner, content, length, naming),
            source: (source, how) => images.deploy(owner, source, how),
          },
        )
      }),
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
      handle: async ({ owner, request, response }) => {
        if (isTus(request)) return beginUpload(images, owner, request, response)
        allowLargeBody(request)
        return images.upload(owner, uploadOf(request), Number(request.headers['content-length'] ?? 0))
      },
    },
    ...resumableRoutes(images),
    [`GET ${containersPath}`]: {
      as: methods.getContainers,
      handle: async ({ owner }) => ({ data: await containers.list(owner) }),
    },
    [`POST ${containersPath}`]: {
      as: methods.deployContainer,
      handle: async ({ owner, request }) => containers.deploy(owner, await readSpec(request, owner)),
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
    [`POST ${containersPath}/{id}/redeploy`]: {
      as: methods.redeployContainer,
      handle: ({ owner, id }) => containers.redeploy(owner, id),
    },
    [`GET ${containersPath}/{id}/logs`]: {
      as: methods.getContainerLogs,
      ...withQuery(logsQuery, async ({ owner, id, query, request, response, endWithCaller }) => {
        const { tail = defaultTail, since, follow } = query
        const log = containers.logs(owner, id)
        const lines = log.tail(tail, since)
        if (follow !== 'true' || request.method === 'HEAD') return { lines }
        const expectSame = () => {
          // A container that was removed and deployed again under its name has another log.
          if (containers.logs(owner, id) !== log) throw new RpcError('not_found', 'the container was removed')
        }
        const endWhen = (end: (cause: RpcError) => void) => endWithCaller(end, expectSame)
        followLog(response, { log, lines, now: () => isoTime(clock.now()), endWhen })
        return undefined
      }),
    },
    [`GET ${containersPath}/{id}/history`]: {
      as: methods.getContainerHistory,
      handle: async ({ owner, id }) => containers.history(owner, id),
    },
  }
  return { prefix: mcmPaths.prefix, table: { ...table, ...asMims(table), ...appRoutes(apps) } }
}

function appRoutes(apps: McmParts['apps']): Routes['table'] {
  const { apps: path } = mcmPaths
  return {
    [`GET ${path}`]: {
      as: methods.getApps,
      handle: async ({ owner }) => ({ data: await apps.list(owner) }),
    },
    [`POST ${path}`]: {
      as: methods.deployApp,
      handle: async ({ owner, request }) => {
        const { plan, secrets, ...options } = await readDeployment(request)
        return apps.deploy(owner, plan, secrets, options)
      },
    },
    [`GET ${path}/{id}`]: { as: methods.getApps, handle: ({ owner, id }) => apps.get(owner, id) },
    [`POST ${path}/{id}/start`]: { as: methods.startApp, handle: ({ owner, id }) => apps.start(owner, id) },
    [`POST ${path}/{id}/stop`]: { as: methods.stopApp, handle: ({ owner, id }) => apps.stop(owner, id) },
    [`POST ${path}/{id}/redeploy`]: {
      as: methods.redeployApp,
      handle: ({ owner, id }) => apps.redeploy(owner, id),
    },
    [`POST ${path}/{id}/rollback`]: {
      as: methods.rollbackApp,
      handle: ({ owner, id }) => apps.rollBack(owner, id),
    },
    [`DELETE ${path}/{id}`]: { as: methods.removeApp, handle: ({ owner, id }) => apps.remove(owner, id) },
  }
}

/** Newer deployers of this API family call containers mims, and wait for the state `started`. */
function asMims(table: Routes['table']): Routes['table'] {
  const { containers, mims } = mcmPaths
  const ofContainers = Object.entries(table).filter(([key]) => key.includes(containers))
  return Object.fromEntries(
    ofContainers.map(([key, route]) => {
      const handle: typeof route.handle = async (call) => withStarted(await route.handle(call))
      return [key.replace(containers, mims), { ...route, handle }]
    }),
  )
}

/** A record, or a list of them, in which every container that serves is `started`; any other result as it is. */
function withStarted(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result
  if ('data' in result && Array.isArray(result.data)) return { data: result.data.map(withStarted) }
  if (!('state' in result) || typeof result.state !== 'string') return result
  return describeState(result.state).isServing ? { ...result, state: 'started' } : result
}
