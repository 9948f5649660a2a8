/** How a program starts and ends. */

export { type Alarm, type Alarms, alarmMessages } from './alarms.ts'
export { allocatorEnv, type Child, ChildFailure, startChild } from './child.ts'
export { exitCodes } from './exit-codes.ts'
export { alwaysReady, type Readiness } from './readiness.ts'
export { type Daemon, type DaemonParts, runDaemon } from './run-daemon.ts'
export { runService, type Service } from './run-service.ts'
