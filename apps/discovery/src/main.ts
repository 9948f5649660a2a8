import { createNetwork } from '@selvedge/client/node'
import { systemClock } from '@selvedge/service-kit/clock'
import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { discoveryOptions } from './config.ts'
import { httpRoutes, startDiscovery } from './discovery.ts'

void runDaemon({
  name: 'discovery',
  options: discoveryOptions,
  // With a configured database, a replica needs no folder.
  usesFolder: ({ store }) => store === '',
  routes: httpRoutes,
  openNetwork: createNetwork,
  start: (config, parts) => startDiscovery(config, { clock: systemClock, ...parts }),
})
