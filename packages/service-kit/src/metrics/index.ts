/** What a daemon measures about itself. The code behind these types is loaded when metrics are on. */
export { measureBackup } from './measure-backup.ts'
export { type Begun, measureCalls } from './measure-calls.ts'
export {
  createStoreMeasures,
  measureDocument,
  measureSql,
  measureWritable,
  type StoreMeasures,
  sqlOperations,
} from './measure-store.ts'
export type { Counter, Histogram, Metrics } from './registry.ts'
