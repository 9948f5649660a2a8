/**
 * Removes what has expired, once a minute, in small steps: no request waits for it, and no insert is slowed down. It uses the
 * steady time, so a jump of the clock that lasts less than a day removes nothing early.
 */
import type { SteadyClock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import type { SqlStore, Statement } from '@selvedge/service-kit/store'

/** One thing to remove. @param until Unix milliseconds; what expired before is removed */
export interface SweepTask {
  readonly name: string
  readonly run: (until: number) => Promise<void>
}

export interface Sweep {
  /** Runs all tasks once. */
  run(): Promise<void>
  start(): void
  stop(): Promise<void>
}

/** Milliseconds between two sweeps. */
const intervalMs = 60_000
/** Rows of one statement. */
export const batch = 500

export function createSweep(clock: SteadyClock, log: Log, tasks: readonly SweepTask[]): Sweep {
  let timer: NodeJS.Timeout | undefined

  async function runAll(): Promise<void> {
    const until = clock.past()
    for (const { name, run } of tasks)
      await run(until).catch((cause) => log.warn('what expired could not be removed', { task: name, cause }))
  }

  const run = shareRun(runAll)

  return {
    run,
    start() {
      timer = setInterval(safely('sweep.run', run), intervalMs)
    },
    async stop() {
      clearInterval(timer)
      await run.present()?.catch(() => undefined)
    },
  }
}

/**
 * Repeats a statement until it finds less than a batch.
 *
 * @param statement affects at most {@link batch} rows and returns one row for each
 */
export async function inBatches(store: SqlStore, statement: () => Statement): Promise<void> {
  while ((await store.run(statement())).length === batch);
}

/** Removes the expired rows of a table. Readers check the time themselves; this frees the space. */
export interface ExpiredRows {
  readonly table: string
  readonly key: string
  /** Column with Unix milliseconds; it has an index. */
  readonly column: string
  /** Milliseconds for which a row stays after that time. */
  readonly keepMs?: number
  /** Condition for rows that stay, because other rows depend on them. */
  readonly unless?: string
}

export function removeExpired(
  store: SqlStore,
  { table, key, column, keepMs = 0, unless }: ExpiredRows,
): SweepTask {
  const text = `DELETE FROM ${table} WHERE ${key} IN
    (SELECT ${key} FROM ${table} WHERE ${column} <= ?${unless === undefined ? '' : ` AND NOT ${unless}`} LIMIT ${batch}) RETURNING 1 AS one`
  return {
    name: `${table}.${column}`,
    run: (until) => inBatches(store, () => ({ sql: text, values: [until - keepMs] })),
  }
}
