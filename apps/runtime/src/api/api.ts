/**
 * How the device is called: listeners, the method table, the handlers of the methods, and their REST twins.
 *
 * It depends on the three other groups. It must not know the files, the engines or the cloud behind them, and only the composition
 * root knows it.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expectFromServices, type Methods } from '@selvedge/protocol'
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '@selvedge/protocol/jsonrpc'
import {
  type CallContext,
  createLoadShedder,
  type LoadShedder,
  requestIdOf,
  shedCalls,
} from '@selvedge/service-kit/http'
import type { Readiness } from '@selvedge/service-kit/lifecycle'
import { errorIdOf } from '@selvedge/service-kit/log'
import { type Metrics, measureCalls } from '@selvedge/service-kit/metrics'
import { storageRefusal } from '@selvedge/service-kit/store'
import type { RuntimeConfig } from '../config.ts'
import type { Device } from '../device/device.ts'
import { showCertificate } from '../device/node/certificate-notices.ts'
import { createGetMe } from '../device/node/get-me.ts'
import type { Location } from '../location/location.ts'
import type { Images } from '../services/images/images.ts'
import { createNeighbours } from '../services/neighbours/neighbours.ts'
import type { CallingService } from '../services/service-api.ts'
import type { Services } from '../services/services.ts'
import { openApiKey } from './api-key.ts'
import { createEventHub, type EventHub } from './events/hub.ts'
import { createSources } from './events/sources.ts'
import { createSubscriptions } from './events/subscriptions.ts'
import { createHandlers, type RuntimeCallers } from './handlers.ts'
import { imagesForServices } from './images-for-services.ts'
import { limits } from './limits.ts'
import { openListeners } from './listeners.ts'
import { mcmRoutes } from './mcm/routes.ts'
import { createOpenRpcDocuments, type OpenRpcDocument } from './openrpc-documents.ts'
import { eventsRoutes } from './rest/events-routes.ts'
import { nodesRoutes } from './rest/nodes-routes.ts'
import { createRest } from './rest/rest.ts'
import { createStatusPage } from './status-page/status-page.ts'

export interface ApiParts {
  readonly config: RuntimeConfig
  /** The method table. */
  readonly methods: Methods
  readonly device: Device
  readonly location: Location
  readonly services: Services
  /** Absent while nothing reads metrics. */
  readonly metrics: Metrics | undefined
  readonly readiness: Readiness
}

/**
 * Listens: from here on, callers are answered.
 *
 * @throws ListenError
 */
export async function openApi(parts: ApiParts): Promise<{ close(): Promise<void> }> {
  const { config, methods, device, location, services } = parts
  const { callers, log, clock, notices, presence } = device
  const shedder = createLoadShedder()
  const documentFor = createOpenRpcDocuments(Object.values(methods))
  const hub = createEventHub({
    sources: createSources(parts),
    signals: device.signals,
    expectAllowed: (owner) => callers.expectStillValid(owner, methods.subscribe.access),
  })
  const rest = createRest(
    {
      ...callers,
      onInternalError: (cause, request) =>
        errorIdOf(log, 'a request failed', { requestId: requestIdOf(request), cause }),
    },
    [mcmRoutes({ ...services, clock }), nodesRoutes(location.nodes), eventsRoutes(hub)],
  )
  const pageNonce = randomBytes(32).toString('base64url')
  const statusPage = createStatusPage(pageNonce)
  const listening = await openListeners(config, {
    pageNonce,
    dispatcher: await openDispatcher(parts, hub, shedder, documentFor),
    readiness: parts.readiness,
    isMeasured,
    shedder,
    openRpc: (url) => documentFor(url).text,
    others: {
      request: (request, response) => {
        if (statusPage(request, response) || rest(request, response)) return
        services.listener.request(request, response)
      },
      upgrade: services.listener.upgrade,
    },
    nonce: callers.nonce,
    expectKey: apiKey && ((authorization) => apiKey.expect(authorization, 'a WebSocket')),
    onUrl: presence.listen,
    onCertificate: (status) => showCertificate(notices, status, clock.now()),
  })
  return {
    async close() {
      hub.close()
      await listening.close()
    },
  }
}

function openDispatcher(
  { config, methods, device, location, services, metrics }: ApiParts,
  hub: EventHub,
  shedder: LoadShedder,
  documentFor: (url: string) => OpenRpcDocument,
  apiKey: ApiKey | undefined,
): Dispatcher<CallContext> {
  const { callers, log, presence } = device
  const authorize = createConnectionTokens(callers)
  const getMe = createGetMe({
    ...device,
    discovery: location.discovery,
    notices: device.notices.list,
    supports: Object.keys(methods),
    revocations: callers.revocations.status,
  })
  const handlers = createHandlers({
    ...device,
    ...location,
    ...services,
    getMe,
    subscriptions: createSubscriptions(hub, callers),
    document: () => documentFor(presence.url()).value,
  })
  return createDispatcher<Methods, RuntimeCallers, CallContext>({
    ...shedCalls<Methods, RuntimeCallers, CallContext>(shedder, {
      methods,
      handlers,
      ...(apiKey && { admit: apiKey.admit }),
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
    const admitCaller = service ? admitService(service) : admitKey
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
