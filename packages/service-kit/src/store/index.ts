/** Durable state: one document for a device, SQL for the services. Nothing is acknowledged before it is on the disk. */
export {
  type DocumentFormat,
  type DocumentNotice,
  type DocumentStore,
  expectKnownVersion,
  openDocument,
} from './document.ts'
export { createLearned, type Learned } from './learned.ts'
export { createLearnedStore, type LearnedStore } from './learned-store.ts'
export { makeFolder, makeTransientFolder } from './make-folder.ts'
export { moveContent } from './move-content.ts'
export {
  type AddedTable,
  type Migrations,
  type Row,
  type SqlStore,
  type SqlValue,
  type Statement,
  sql,
  stepsOf,
} from './sql.ts'
export { openSqlite } from './sqlite.ts'
export { lockStateFolder, openStateFolder } from './state-folder.ts'
export { openSteadyClock } from './steady-clock.ts'
export { refusesWrites, storageRefusal } from './storage-refusal.ts'
export { openStoreClock, type StoreClock } from './store-clock.ts'
export { StoreError } from './store-error.ts'
export { syncFolder, syncFoundNames } from './sync-folder.ts'
export { waitForRoom } from './wait-for-room.ts'
export { type Writability, watchWrites } from './writable-store.ts'
export { readOrWriteOnce, writeOnce } from './write-once.ts'
