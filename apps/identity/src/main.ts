import { join } from 'node:path'
import { createNetwork } from '@selvedge/client/node'
import { identityPaths } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { waitForRoom } from '@selvedge/service-kit/store'
import { identityOptions } from './config.ts'
import { startIdentity } from './identity.ts'

void runDaemon({
  name: 'identity',
  options: identityOptions,
  usesFolder: () => true,
  routes: Object.values(identityPaths),
  openNetwork: createNetwork,
  async start(config, { log, stopped, metrics, readiness, network }) {
    await waitForRoom(join(config.state, 'identity'), log, stopped)
    return startIdentity(config, {
      ...{ clock: systemClock, log, metrics, readiness, network },
      env: process.env,
    })
  },
})
