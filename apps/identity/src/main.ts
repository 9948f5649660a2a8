import { join } from 'node:path'
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
  async start(config, { log, stopped, metrics, readiness }) {
    await waitForRoom(join(config.state, 'identity'), log, stopped)
    return startIdentity(config, { clock: systemClock, log, metrics, readiness, env: process.env })
  },
})
