import { createNetwork } from '@selvedge/client/node'
import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { runtimeOptions } from './config.ts'
import { httpRoutes, startRuntime } from './runtime.ts'

void runDaemon({
  name: 'runtime',
  options: runtimeOptions,
  usesFolder: () => true,
  routes: httpRoutes,
  openNetwork: createNetwork,
  start: startRuntime,
})
