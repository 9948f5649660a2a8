/**
 * How the device is called: listeners, the method table, the handlers of the methods, and their REST twins.
 *
 * It depends on the three other groups. It must not know the files, the engines or the cloud behind them, and only the composition
 * root knows it.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createLoadShedder, requestIdOf } from '@selvedge/service-kit/http'
import { errorIdOf } from '@selvedge/service-kit/log'
import { showCertificate } from '../device/node/certificate-notices.ts'
import type { Images } from '../services/images/images.ts'
import { createNeighbours } from '../services/neighbours/neighbours.ts'
import { openApiKey } from './api-key.ts'
import type { ApiParts } from './api-parts.ts'
import { openDispatchers } from './dispatchers.ts'
import { createEventHub } from './events/hub.ts'
import { createSources } from './events/sources.ts'
import { imagesForServices } from './images-for-services.ts'
import { openListeners } from './listeners.ts'
import { mcmRoutes } from './mcm/routes.ts'
import { createOpenRpcDocuments } from './openrpc-documents.ts'
import { eventsRoutes } from './rest/events-routes.ts'
import { nodesRoutes, type WithoutToken } from './rest/nodes-routes.ts'
import { createRest, type RestParts } from './rest/rest.ts'
import { createServiceApi } from './service-api.ts'
import { createStatusPage } from './status-page/status-page.ts'
import { createTokenEndpoint } from './token-endpoint.ts'

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
  const apiKey = config.apiKey ? await openApiKey(join(config.state, 'api-key')) : undefined
  const hub = createEventHub({
    sources: createSources(parts),
    signals: device.signals,
    expectAllowed: (owner) => callers.expectStillValid(owner, methods.subscribe.access),
  })
  const dispatcherFor = openDispatchers(parts, { hub, shedder, documentFor, apiKey })
  const restParts: RestParts = {
    ...callers,
    onInternalError: (cause, request) =>
      errorIdOf(log, 'a request failed', { requestId: requestIdOf(request), cause }),
  }
  const routesOf = (images: Images, withoutToken: WithoutToken) => [
    mcmRoutes({ ...services, images, clock }),
    nodesRoutes(location.nodes, withoutToken),
  ]
  const neighbours = createNeighbours({
    authorize: callers.authorize,
    list: location.nodes.list,
    now: () => performance.now(),
  })
  const { apiKey: hasApiKey } = config
  const rest = createRest(restParts, [...routesOf(services.images, { hasApiKey }), eventsRoutes(hub)])
  const isMeasured = parts.metrics !== undefined
  services.answerServices(
    createServiceApi({
      dispatcherFor,
      routesFor: ({ instance }) =>
        routesOf(imagesForServices(services.images), {
          sealedNodes: async (cluster, options) => neighbours.seal(cluster, options, instance),
        }),
      neighbours,
      rest: restParts,
      shedder,
      isMeasured,
    }),
  )
  const pageNonce = randomBytes(32).toString('base64url')
  const tokenEndpoint = createTokenEndpoint({ ...device, nonce: callers.nonce })
  const own = [createStatusPage(pageNonce), tokenEndpoint, rest]
  const listening = await openListeners(config, {
    pageNonce,
    dispatcher: dispatcherFor(),
    readiness: parts.readiness,
    isMeasured,
    shedder,
    openRpc: (url) => documentFor(url).text,
    others: {
      request: (request, response) => {
        if (!own.some((each) => each(request, response))) services.listener.request(request, response)
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
