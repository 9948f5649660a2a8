import {
  type MethodName,
  type Methods,
  methods,
  type ParamsOf,
  type ResultOf,
  RpcError,
} from '@selvedge/protocol'
import type { Handler } from '@selvedge/protocol/jsonrpc'
import type { CallContext } from '@selvedge/service-kit/http'
import { StoreError } from '@selvedge/service-kit/store'
import type { Account } from './account/account.ts'
import type { EdgeTokens } from './cloud/edge-tokens.ts'
import type { Containers } from './containers/containers.ts'
import type { Gps } from './gps/gps.ts'
import type { Hmac } from './hmac/hmac.ts'
import type { Images } from './images/images.ts'
import type { Authorize } from './tokens/authorize.ts'

export interface HandlerParts {
  readonly getMe: () => unknown
  readonly tokens: EdgeTokens
  readonly account: Account
  readonly gps: Gps
  readonly hmac: Hmac
  readonly images: Images
  readonly containers: Containers
  readonly describeEngines: () => Promise<ResultOf<Methods['getEngines']>>
  readonly authorize: Authorize
  readonly document: () => object
}

type Handlers = {
  [Name in MethodName]: (params: ParamsOf<Methods[Name]>) => unknown | Promise<ResultOf<Methods[Name]>>
}

/** One handler a method. Whatever a method asks of its caller is checked here, by its declaration, before it runs. */
export function createHandlers(parts: HandlerParts): Record<MethodName, Handler<CallContext>> {
  const { tokens, account, gps, hmac, images, containers, authorize } = parts
  const caller = (name: MethodName, { edgeAccessToken }: { edgeAccessToken: string }) =>
    authorize(edgeAccessToken, methods[name].access)

  const handlers: Handlers = {
    getMe: parts.getMe,
    getEdgeIdToken: async () => ({ id_token: await tokens.get() }),
    associateAccount: async (params) =>
      account.associate(await caller('associateAccount', params), params.edgeAccessToken),
    unassociateAccount: async (params) => account.unassociate(await caller('unassociateAccount', params)),
    updateGps: async (params) => {
      await caller('updateGps', params)
      return gps.update(params)
    },
    getGps: async (params) => {
      await caller('getGps', params)
      return gps.last()
    },
    getEdgeHmacCode: async (params) => {
      await caller('getEdgeHmacCode', params)
      return hmac.create(params)
    },
    verifyEdgeHmacCode: (params) => hmac.verify(params),
    deployImage: async (params) => images.deploy(await caller('deployImage', params), params.source),
    getImages: async (params) => images.list(await caller('getImages', params)),
    removeImage: async (params) => images.remove(await caller('removeImage', params), params.id),
    deployContainer: async (params) =>
      containers.deploy(await caller('deployContainer', params), params.spec),
    getContainers: async (params) => containers.list(await caller('getContainers', params)),
    startContainer: async (params) => containers.start(await caller('startContainer', params), params.id),
    stopContainer: async (params) => containers.stop(await caller('stopContainer', params), params.id),
    removeContainer: async (params) => containers.remove(await caller('removeContainer', params), params.id),
    getContainerLogs: async (params) => {
      const log = containers.logs(await caller('getContainerLogs', params), params.id)
      return { lines: log.tail(params.tail) }
    },
    getContainerHistory: async (params) =>
      containers.history(await caller('getContainerHistory', params), params.id),
    getEngines: () => parts.describeEngines(),
    'rpc.discover': parts.document,
  }
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [name, withStorage(handler as Handler<CallContext>)]),
  ) as Record<MethodName, Handler<CallContext>>
}

/** A full disk is a refusal that a caller can understand; other failures of the storage are ours. */
function withStorage(handler: Handler<CallContext>): Handler<CallContext> {
  const explain = (cause: unknown): never => {
    if (cause instanceof StoreError && cause.full) {
      throw new RpcError('storage_full', 'the state could not be written: the disk is full', { cause })
    }
    throw cause
  }
  return (params, context) => {
    const result = handler(params, context)
    return result instanceof Promise ? result.catch(explain) : result
  }
}
