import { systemClock } from '@selvedge/service-kit/clock'
import { loadConfig, readConfigFile } from '@selvedge/service-kit/config'
import { runService } from '@selvedge/service-kit/lifecycle'
import { createLog } from '@selvedge/service-kit/log'
import { discoveryOptions } from './config.ts'
import { startDiscovery } from './discovery.ts'

void runService(() => {
  const { argv, env } = process
  const file = readConfigFile(env.SELVEDGE_CONFIG, 'discovery')
  const config = loadConfig(discoveryOptions, { argv: argv.slice(2), env, file })
  const log = createLog({ service: 'discovery', level: config['log.level'], now: systemClock.now })
  return startDiscovery(config, { clock: systemClock, log })
})
