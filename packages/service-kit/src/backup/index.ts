/** Backups of the stores of the services: a consistent copy while the daemon runs, and a restore that can be undone. */
export { runStoreTool } from './store-tool.ts'
