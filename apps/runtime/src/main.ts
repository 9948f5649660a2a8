import { loadConfig, readConfigFile } from '@selvedge/service-kit/config'
import { runService } from '@selvedge/service-kit/lifecycle'
import { createLog } from '@selvedge/service-kit/log'
import { runtimeOptions } from './config.ts'
import { startRuntime } from './runtime.ts'

void runService(() => {
  const { argv, env } = process
  const file = readConfigFile(env.SELVEDGE_CONFIG, 'runtime')
  const config = loadConfig(runtimeOptions, { argv: argv.slice(2), env, file })
  return startRuntime(config, createLog({ service: 'runtime', level: config['log.level'], now: Date.now }))
})
