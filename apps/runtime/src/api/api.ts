/**
 * How the device is called: listeners, the method table, the handlers of the methods, and their REST twins.
 *
 * It depends on the three other groups. It must not know the files, the engines or the cloud behind them, and only the composition
 * root knows it.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Methods } from '@selvedge/protocol'
import { createDispatcher, type Dispatcher } from '@selvedge/protocol/jsonrpc'
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
import type { Services } from '../services/services.ts'
import { openApiKey } from './api-key.ts'
import { createHandlers, type RuntimeCallers } from './handlers.ts'
import { limits } from './limits.ts'
import { openListeners } from './listeners.ts'
import { mcmRoutes } from './mcm/routes.ts'
import { createOpenRpcDocuments, type OpenRpcDocument } from './openrpc-documents.ts'
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
  const rest = createRest(
    {
      ...callers,
      onInternalError: (cause, request) =>
        errorIdOf(log, 'a request failed', { requestId: requestIdOf(request), cause }),
    },
    [mcmRoutes({ ...services, clock }), nodesRoutes(location.nodes)],
  )
  const pageNonce = randomBytes(32).toString('base64url')
  const statusPage = createStatusPage(pageNonce)
  return openListeners(config, {
    pageNonce,
    dispatcher: await openDispatcher(parts, shedder, documentFor),
    readiness: parts.readiness,
    isMeasured: parts.metrics !== undefined,
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
    onUrl: presence.listen,
    onCertificate: (status) => showCertificate(notices, status, clock.now()),
  })
}

async function openDispatcher(
  { config, methods, device, location, services, metrics }: ApiParts,
  shedder: LoadShedder,
  documentFor: (url: string) => OpenRpcDocument,
): Promise<Dispatcher<CallContext>> {
  const { callers, log, presence } = device
  const admit = config.apiKey ? await openApiKey(join(config.state, 'api-key')) : undefined
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
    document: () => documentFor(presence.url()).value,
  })
  return createDispatcher<Methods, RuntimeCallers, CallContext>({
    ...shedCalls<Methods, RuntimeCallers, CallContext>(shedder, {
      methods,
      handlers,
      ...(admit && { admit }),
    }),
    checks: {
      anyone: () => undefined,
      token: ({ name, access }, readParams, context) =>
        callers.authorize(readParams().edgeAccessToken as string, access, context, name),
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
  })
}
