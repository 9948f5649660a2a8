import { systemClock } from '@selvedge/service-kit/clock'
import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { identityOptions } from './config.ts'
import { startIdentity } from './identity.ts'

void runDaemon({
  name: 'identity',
  options: identityOptions,
  usesFolder: () => true,
  start: (config, log) => startIdentity(config, { clock: systemClock, log, env: process.env }),
})
