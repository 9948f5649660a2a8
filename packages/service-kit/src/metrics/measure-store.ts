/** How long stores take, and how much waits for them. Without metrics a store is returned as it is. */
import type { DocumentStore } from '../store/document.ts'
import type { SqlStore } from '../store/sql.ts'
import { traced } from '../trace/trace.ts'
import { createWorkCount } from '../work/work-count.ts'
import type { Metrics } from './registry.ts'

/** Operations of a database: a statement, or several in one transaction. */
export const sqlOperations = ['statement', 'transaction'] as const

/** Measures one operation of a store. */
type TimeOperation<Operation extends string> = <T>(operation: Operation, work: () => Promise<T>) => Promise<T>

export interface StoreMeasures<Operation extends string> {
  readonly time: TimeOperation<Operation>
  /** Operations that were sent to a store and have no answer: those that wait for the next commit, and those of that commit. */
  underWay(): number
}

/** @param operations of all stores of the daemon, as values of a label */
export function createStoreMeasures<const Operation extends string>(
  metrics: Metrics | undefined,
  operations: readonly Operation[],
): StoreMeasures<Operation> | undefined {
  if (!metrics) return undefined
  const durations = metrics.histogram(
    'selvedge_store_duration_seconds',
    'Time until a store confirmed that a change is durable, or answered a query.',
    { operation: operations, outcome: ['ok', 'failed'] },
  )
  const statements = createWorkCount('statements')
  return {
    time: (operation, work) =>
      statements.during(async () => {
        const begunAt = performance.now()
        const end = (outcome: string) =>
          durations.observe((performance.now() - begunAt) / 1000, operation, outcome)
        try {
          const result = await traced('store', `store ${operation}`, work)
          end('ok')
          return result
        } catch (cause) {
          end('failed')
          throw cause
        }
      }),
    underWay: () => statements.underWay,
  }
}

/** @param isWritable by the last write */
export function measureWritable({ gauge }: Metrics, isWritable: () => boolean): void {
  gauge('selvedge_store_writable', 'Whether the database accepted the last write: 1 or 0.', () =>
    Number(isWritable()),
  )
}

export function measureSql(
  store: SqlStore,
  measures: StoreMeasures<(typeof sqlOperations)[number]> | undefined,
): SqlStore {
  if (!measures) return store
  const { time } = measures
  return {
    ...store,
    run: (statement) => time('statement', () => store.run(statement)),
    transaction: (statements) => time('transaction', () => store.transaction(statements)),
  }
}

/** Measures the changes of a document. @param name of the operation */
export function measureDocument<Operation extends string, T>(
  name: Operation,
  store: DocumentStore<T>,
  measures: StoreMeasures<Operation> | undefined,
): DocumentStore<T> {
  if (!measures) return store
  // Its members are read through: the value changes.
  return Object.create(store, {
    update: {
      value: (change: Parameters<typeof store.update>[0]) => measures.time(name, () => store.update(change)),
    },
  })
}
