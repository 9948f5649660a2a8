/** How a program starts and ends. */

export { type Alarm, type Alarms, alarmMessages } from './alarms.ts'
export { type Child, ChildFailure, startChild } from './child.ts'
export { exitCodes } from './exit-codes.ts'
export { type Daemon, runDaemon } from './run-daemon.ts'
export { runService, type Service } from './run-service.ts'
