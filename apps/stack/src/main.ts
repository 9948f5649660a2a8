import { runService } from '@selvedge/service-kit/lifecycle'
import { startStack } from './stack.ts'

void runService(() => startStack(process.env, process.argv.slice(2)))
