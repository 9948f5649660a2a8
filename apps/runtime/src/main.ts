import { runDaemon } from '@selvedge/service-kit/lifecycle'
import { runtimeOptions } from './config.ts'
import { startRuntime } from './runtime.ts'

void runDaemon({ name: 'runtime', options: runtimeOptions, usesFolder: () => true, start: startRuntime })
