import { join } from 'node:path'
import { systemClock } from '@selvedge/service-kit/clock'
import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { waitForRoom } from '@selvedge/service-kit/store'
import { identityOptions } from './config.ts'
import { startIdentity } from './identity.ts'

void runDaemon({
  name: 'identity',
  options: identityOptions,
  usesFolder: () => true,
  async start(config, log, _alarms, stopped) {
    await waitForRoom(join(config.state, 'identity'), log, stopped)
    return startIdentity(config, { clock: systemClock, log, env: process.env })
  },
})
