/** How a program starts and ends. */

export { type Child, startChild } from './child.ts'
export { runService, type Service } from './run-service.ts'
