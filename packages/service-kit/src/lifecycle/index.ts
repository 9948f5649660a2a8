/** How a program starts and ends. */
export { runService, type Service } from './run-service.ts'
