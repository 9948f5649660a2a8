import { systemClock } from '@selvedge/service-kit/clock'
import { loadConfig, readConfigFile } from '@selvedge/service-kit/config'
import { runService } from '@selvedge/service-kit/lifecycle'
import { createLog } from '@selvedge/service-kit/log'
import { identityOptions } from './config.ts'
import { startIdentity } from './identity.ts'

void runService(() => {
  const { argv, env } = process
  const file = readConfigFile(env.SELVEDGE_CONFIG, 'identity')
  const config = loadConfig(identityOptions, { argv: argv.slice(2), env, file })
  const log = createLog({ service: 'identity', level: config['log.level'], now: systemClock.now })
  return startIdentity(config, { clock: systemClock, log, env })
})
