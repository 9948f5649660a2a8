/** The edge daemon: the composition root, where the four groups meet. */
import { eventsPath, healthPaths, mcmPaths, openRpcPath, rpcPath } from '@selvedge/protocol'
import { localTokenPath } from '@selvedge/protocol/tokens'
import type { DaemonParts, Service } from '@selvedge/service-kit/lifecycle'
import { inBackground } from '@selvedge/service-kit/safely'
import { openApi } from './api/api.ts'
import { methodTable } from './api/method-table.ts'
import { type RuntimeConfig, socketOf } from './config.ts'
import { confirmationFolder, confirmRelease, isReplaced } from './confirm-release.ts'
import { openDevice } from './device/device.ts'
import { showAside, wakeOnMachine } from './device/machine/wake.ts'
import { raiseDocumentNotices } from './device/node/document-notices.ts'
import { showStalled } from './device/node/stalled-notice.ts'
import { openLocation } from './location/location.ts'
import { createMeasures, measureRuntime } from './measure.ts'
import { openServices } from './services/services.ts'

/** Labels of requests in metrics; those to services are `other`. */
export const httpRoutes = [
  rpcPath,
  openRpcPath,
  eventsPath,
  mcmPaths.images,
  `${mcmPaths.images}/*`,
  mcmPaths.uploads,
  `${mcmPaths.uploads}/*`,
  mcmPaths.containers,
  `${mcmPaths.containers}/*`,
  mcmPaths.apps,
  `${mcmPaths.apps}/*`,
  mcmPaths.mims,
  `${mcmPaths.mims}/*`,
  '/mds/v1/nodes',
  localTokenPath,
  healthPaths.health,
  healthPaths.ready,
]

/**
 * Makes all parts first; what runs by itself (timers, sockets, discovery) starts after the last of them exists.
 *
 * @param parts.alarms of the process; the runtime shows them as notices
 */
export async function startRuntime(
  config: RuntimeConfig,
  { log, alarms, metrics, readiness, network }: DaemonParts,
): Promise<Service> {
  const methods = methodTable(config)
  await wakeOnMachine(config.state, log)
  const device = await openDevice(config, { log, alarms, network, measures: createMeasures(metrics) })
  const order = methods.updateGps.params.map((each) => each.name)
  const location = await openLocation(config, device, order)
  const services = await openServices(config, device)
  showStalled(readiness, device.notices)
  await showAside(config.state, device.notices, device.clock.now())
  raiseDocumentNotices(device.notices, { ...device.documents, ...services.documents })
  const api = await openApi({ config, methods, device, location, services, metrics, readiness })
  if (metrics) measureRuntime(metrics, device, location, services)
  const url = device.presence.url()
  log.debug('ready', { url, nodeId: device.nodeId })

  device.start()
  device.metering.start()
  location.start()
  services.start()
  const { unavailableEngines } = services
  inBackground(
    'release.confirm',
    confirmRelease({
      folder: confirmationFolder(process.env, config.state),
      socket: socketOf(config),
      log,
      unavailableEngines,
    }),
  )

  return {
    ready: { url },
    async stop() {
      await Promise.all([api.close(), location.close(), services.close(isReplaced()), device.stop()])
      await device.close()
      log.debug('stopped')
    },
  }
}
