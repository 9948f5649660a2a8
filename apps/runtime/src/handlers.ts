import { type MethodName, type Methods, methods, type ParamsOf, type ResultOf } from '@selvedge/protocol'
import type { Handler } from '@selvedge/protocol/jsonrpc'
import type { CallContext } from '@selvedge/service-kit/http'
import { shareRun } from '@selvedge/service-kit/share'
import type { Account } from './account/account.ts'
import type { EdgeTokens } from './cloud/edge-tokens.ts'
import type { Containers } from './containers/containers.ts'
import type { Gps } from './gps/gps.ts'
import type { Hmac } from './hmac/hmac.ts'
import type { Images } from './images/images.ts'
import type { Nodes } from './nodes/nodes.ts'
import type { LocationSharing } from './nodes/sharing.ts'
import type { Authorize } from './tokens/authorize.ts'

export interface HandlerParts {
  readonly getMe: (params: unknown, context: CallContext) => unknown
  readonly tokens: EdgeTokens
  readonly account: Account
  readonly gps: Gps
  readonly nodes: Nodes
  readonly sharing: LocationSharing
  readonly hmac: Hmac
  readonly images: Images
  readonly containers: Containers
  readonly describeEngines: () => Promise<ResultOf<Methods['getEngines']>>
  readonly authorize: Authorize
  readonly document: () => object
}

type Handlers = {
  [Name in MethodName]: (
    params: ParamsOf<Methods[Name]>,
    context: CallContext,
  ) => unknown | Promise<ResultOf<Methods[Name]>>
}

/** One handler a method. Whatever a method asks of its caller is checked here, by its declaration, before it runs. */
export function createHandlers(parts: HandlerParts): Record<MethodName, Handler<CallContext>> {
  const { tokens, account, gps, nodes, sharing, hmac, images, containers, authorize } = parts
  const caller = (name: MethodName, { edgeAccessToken }: { edgeAccessToken: string }, context: CallContext) =>
    authorize(edgeAccessToken, methods[name].access, context, name)
  // Any caller may ask, and a batch holds a hundred calls.
  const describeEngines = shareRun(parts.describeEngines)

  const handlers: Handlers = {
    getMe: parts.getMe,
    getEdgeIdToken: async () => ({ id_token: await tokens.get() }),
    associateAccount: async (params, context) =>
      account.associate(await caller('associateAccount', params, context), params.edgeAccessToken),
    unassociateAccount: async (params, context) =>
      account.unassociate(await caller('unassociateAccount', params, context)),
    updateGps: async (params, context) => {
      await caller('updateGps', params, context)
      return gps.update(params)
    },
    getGps: async (params, context) => {
      await caller('getGps', params, context)
      return gps.last()
    },
    getNodes: async (params, context) => {
      await caller('getNodes', params, context)
      return nodes.list(params.cluster, params.options)
    },
    setLocationSharing: async (params, context) => {
      await caller('setLocationSharing', params, context)
      return sharing.set(params.audience, params.precision)
    },
    getLocationSharing: async (params, context) => {
      await caller('getLocationSharing', params, context)
      return sharing.get()
    },
    setLocationTrack: async (params, context) => {
      await caller('setLocationTrack', params, context)
      return sharing.setTrack(params.until)
    },
    getLocationTrack: async (params, context) => {
      await caller('getLocationTrack', params, context)
      return nodes.track(params.options)
    },
    getEdgeHmacCode: async (params, context) => {
      await caller('getEdgeHmacCode', params, context)
      return hmac.create(params)
    },
    verifyEdgeHmacCode: (params, context) => hmac.verify(params, context),
    deployImage: async (params, context) =>
      images.deploy(await caller('deployImage', params, context), params.source),
    getImages: async (params, context) => images.list(await caller('getImages', params, context)),
    removeImage: async (params, context) =>
      images.remove(await caller('removeImage', params, context), params.id),
    deployContainer: async (params, context) =>
      containers.deploy(await caller('deployContainer', params, context), params.spec),
    getContainers: async (params, context) => containers.list(await caller('getContainers', params, context)),
    startContainer: async (params, context) =>
      containers.start(await caller('startContainer', params, context), params.id),
    stopContainer: async (params, context) =>
      containers.stop(await caller('stopContainer', params, context), params.id),
    removeContainer: async (params, context) =>
      containers.remove(await caller('removeContainer', params, context), params.id),
    getContainerLogs: async (params, context) => {
      const log = containers.logs(await caller('getContainerLogs', params, context), params.id)
      return { lines: log.tail(params.tail) }
    },
    getContainerHistory: async (params, context) =>
      containers.history(await caller('getContainerHistory', params, context), params.id),
    getEngines: describeEngines,
    'rpc.discover': parts.document,
  }
  return handlers as Record<MethodName, Handler<CallContext>>
}
