import { runService } from '@selvedge/service-kit/lifecycle'
import { startStack } from './stack.ts'

await runService(() => startStack(process.env, process.argv.slice(2)))
