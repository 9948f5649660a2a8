import type { Model } from '../explore.ts'
import type { Subject } from '../subject.ts'
import { createRedis } from './redis.ts'
import { createSqliteShell } from './sqlite-shell.ts'

export interface Control {
  readonly subject: Subject
  /** Disks on which it is known to lose what it acknowledged. */
  readonly loses: readonly Model[]
  /** Different states to open. */
  readonly states: number
}

/** @param steps acknowledged changes of each */
export const createControls = (steps: number): Control[] => [
  { subject: createSqliteShell('WAL', 'FULL', steps), loses: [], states: 2000 },
  { subject: createSqliteShell('WAL', 'NORMAL', steps), loses: ['strict', 'ordered'], states: 500 },
  // https://sqlite.org/pragma.html#pragma_synchronous: only EXTRA syncs the folder from which the journal was removed.
  { subject: createSqliteShell('DELETE', 'EXTRA', steps), loses: [], states: 2000 },
  { subject: createSqliteShell('DELETE', 'FULL', steps), loses: ['strict', 'ordered'], states: 500 },
  { subject: createRedis('everysec', steps), loses: ['strict', 'ordered'], states: 100 },
  // It syncs its file, and not the folder above that of its files.
  { subject: createRedis('always', steps), loses: ['strict'], states: 100 },
]
