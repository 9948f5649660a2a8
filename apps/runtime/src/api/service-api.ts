/** The local API for the services of this device: what their methods and routes declare, the same checks of tokens, and no API key. */
import { expectFromServices } from '@selvedge/protocol'
import type { Dispatcher } from '@selvedge/protocol/jsonrpc'
import {
  type CallContext,
  createBodyMemory,
  createOneATurn,
  createRpcListener,
  isCallPath,
  type LoadShedder,
} from '@selvedge/service-kit/http'
import { provenRequest } from '../services/gateway/proven-request.ts'
import type { Neighbours } from '../services/neighbours/neighbours.ts'
import type { CallingService, OpenServiceApi } from '../services/service-api.ts'
import { limits } from './limits.ts'
import { createRest, type RestParts, type Routes } from './rest/rest.ts'

export interface ServiceApiParts {
  readonly dispatcherFor: (service: CallingService) => Dispatcher<CallContext>
  readonly routesFor: (service: CallingService) => readonly Routes[]
  readonly rest: RestParts
  readonly neighbours: Neighbours
  readonly shedder: LoadShedder
  /** Whether the dispatchers measure how long calls take. */
  readonly isMeasured: boolean
}

/** Names by which a service may call: those of the loopback, and that of requests on its own socket. */
const hosts = ['runtime']

export function createServiceApi(parts: ServiceApiParts): OpenServiceApi {
  // One for all instances: each of them may be hostile, and there may be many.
  const shared = { oneATurn: createOneATurn(), bodyMemory: createBodyMemory(limits.body) }
  return (service) => {
    const routes = parts.routesFor(service)
    const expectAllowed: RestParts['expectAllowed'] = (method) => expectFromServices(method, service.settings)
    const rest = createRest({ ...parts.rest, expectAllowed }, routes)
    const prefixes = routes.map(({ prefix }) => `${prefix}/`)
    const { request } = createRpcListener({
      ...shared,
      dispatcher: parts.dispatcherFor(service),
      isMeasured: parts.isMeasured,
      // Pages do not reach this listener. A service that forwards their requests is refused as they would be.
      guard: { port: undefined, hosts, allowedOrigins: [] },
      maxBody: limits.body,
      readsUntyped: true,
      nonce: parts.rest.nonce,
      shedder: parts.shedder,
      others: { request: rest },
    })
    return {
      owns: (path) => isCallPath(path) || prefixes.some((prefix) => path.startsWith(prefix)),
      request,
      openNodes: (body, asked) => parts.neighbours.open(body, service.instance, provenRequest(asked)),
    }
  }
}
