import { exitCodes, runService } from '@selvedge/service-kit/lifecycle'
import { startStack } from './stack.ts'

// Started by a person and not by a supervisor: every failure is 1.
void runService(
  'stack',
  (_alarms, stopped) => startStack(process.env, process.argv.slice(2), stopped),
  exitCodes.failed,
)
