/** The dispatchers of the local API: which callers reach which methods, and with which checks. */
import { expectFromServices, type Methods } from '@selvedge/protocol'
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '@selvedge/protocol/jsonrpc'
import { localTokenPath } from '@selvedge/protocol/tokens'
import { type CallContext, type LoadShedder, requestIdOf, shedCalls } from '@selvedge/service-kit/http'
import { errorIdOf } from '@selvedge/service-kit/log'
import { measureCalls } from '@selvedge/service-kit/metrics'
import { storageRefusal } from '@selvedge/service-kit/store'
import { createGetMe } from '../device/node/get-me.ts'
import type { CallingService } from '../services/service-api.ts'
import type { ApiKey } from './api-key.ts'
import type { ApiParts } from './api-parts.ts'
import { createConnectionTokens } from './connection-tokens.ts'
import type { EventHub } from './events/hub.ts'
import { createSubscriptions } from './events/subscriptions.ts'
import { createHandlers, type RuntimeCallers } from './handlers.ts'
import { imagesForServices } from './images-for-services.ts'
import { limits } from './limits.ts'
import type { OpenRpcDocument } from './openrpc-documents.ts'

type Options = DispatcherOptions<Methods, RuntimeCallers, CallContext>

interface DispatcherParts {
  readonly hub: EventHub
  readonly shedder: LoadShedder
  readonly documentFor: (url: string) => OpenRpcDocument
  /** Absent: callers need no key. */
  readonly apiKey: ApiKey | undefined
}

/**
 * One dispatcher for each kind of caller.
 *
 * @returns a function that makes the dispatcher for an instance of a service; without one, for everyone who reaches the listeners
 */
export function openDispatchers(
  parts: ApiParts,
  { hub, shedder, documentFor, apiKey }: DispatcherParts,
): (service?: CallingService) => Dispatcher<CallContext> {
  const { config, methods, device, location, services, metrics } = parts
  const { callers, log, presence } = device
  const authorize = createConnectionTokens(callers)
  const getMe = createGetMe({
    ...device,
    discovery: location.discovery,
    notices: device.notices.list,
    supports: Object.keys(methods),
    revocations: callers.revocations.status,
    proxy: device.network.status().proxy,
    tokenEndpoint: () => presence.url() + localTokenPath,
  })
  const document = () => documentFor(presence.url()).value
  const subscriptions = createSubscriptions(hub, callers)
  const shared = { ...device, ...location, ...services, subscriptions, document }
  const shed = (handlers: Options['handlers']) =>
    shedCalls<Methods, RuntimeCallers, CallContext>(shedder, { methods, handlers })
  const outside = shed(createHandlers({ ...shared, getMe }))
  const inside = shed(
    createHandlers({
      ...shared,
      // As on other machines: a public service may pass the answer on to its callers.
      getMe: () => getMe({ overTls: true }),
      images: imagesForServices(services.images),
    }),
  )
  const common = {
    checks: {
      anyone: () => undefined,
      token: ({ name, access }, readParams, context) =>
        authorize(readParams().edgeAccessToken as string, access, context, name),
    },
    mirror: config['compat.flatGetMe'],
    limits,
    explain: storageRefusal,
    onAnswer: metrics && measureCalls(metrics, Object.keys(methods)),
    onInternalError: (method, cause, context) =>
      errorIdOf(log, 'a method failed', {
        method,
        ...(context && { requestId: requestIdOf(context.request) }),
        cause,
      }),
  } satisfies Partial<Options>
  return (service) => {
    const { admit: shedOrPass, ...table } = service ? inside : outside
    const admitCaller = service ? admitService(service) : apiKey?.admit
    const admit: Options['admit'] = (method, context) => {
      shedOrPass?.(method, context)
      admitCaller?.(method, context)
    }
    return createDispatcher<Methods, RuntimeCallers, CallContext>({ ...table, ...common, admit })
  }
}

/** The request has been counted with its first call. */
function admitService({ settings, countCall }: CallingService): NonNullable<Options['admit']> {
  const counted = new WeakSet<CallContext>()
  return (method, context) => {
    if (counted.has(context)) countCall()
    counted.add(context)
    expectFromServices(method, settings)
  }
}
