/** Notices that a database only reads, as after a failover or on a full disk: what needs no write continues, and people have to know. */
import type { Log } from '../log/index.ts'
import { shareRun } from '../share/share.ts'
import type { SqlStore, Statement } from './sql.ts'
import { storageRefusal } from './storage-refusal.ts'

export interface Writability {
  /** By the last write. */
  isWritable(): boolean
  /** The same, after a write of its own if the last one was answered seconds ago. Never rejects; resolves within 2 s. */
  check(): Promise<boolean>
  /** The same for a readiness check: what this daemon cannot do. */
  degraded(): Promise<readonly string[]>
}

/** Milliseconds: for which the answer to a write counts, and until a check's own write is answered. */
const times = { validMs: 4000, answerMs: 2000 } as const

/** The check's own write: it changes nothing, and a database that only reads refuses it. */
const probeStatement: Statement = {
  sql: "UPDATE counters SET value = value WHERE name = 'steady'",
  values: [],
  timeoutMs: times.answerMs,
}

const onlyReads = ({ sql }: Statement): boolean => sql.startsWith('SELECT ')

/** @param store has the table `counters`. Writes go through the returned store */
export function watchWrites(
  store: SqlStore,
  log: Log,
  monotonic: () => number = () => performance.now(),
): { readonly store: SqlStore; readonly writability: Writability } {
  let isWritable = true
  let answeredAt = Number.NEGATIVE_INFINITY

  function note(cause?: unknown): void {
    // A statement that is refused for its content is an answer of a database that works.
    const isFailure = cause !== undefined && storageRefusal(cause) !== undefined
    answeredAt = monotonic()
    if (isWritable !== isFailure) return
    isWritable = !isFailure
    if (isFailure) log.error('the database refuses writes; what only reads continues', { cause })
    else log.info('the database accepts writes again')
  }
  async function noted<T>(isRead: boolean, work: Promise<T>): Promise<T> {
    if (isRead) return work
    try {
      const result = await work
      note()
      return result
    } catch (cause) {
      note(cause)
      throw cause
    }
  }
  const watched: SqlStore = {
    ...store,
    run: (statement) => noted(onlyReads(statement), store.run(statement)),
    transaction: (statements) => noted(statements.every(onlyReads), store.transaction(statements)),
  }

  const probe = shareRun(() => watched.run(probeStatement).catch(() => undefined))

  async function check(): Promise<boolean> {
    if (monotonic() - answeredAt < times.validMs) return isWritable
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, times.answerMs).unref()
    })
    await Promise.race([probe(), late])
    clearTimeout(timer)
    return isWritable
  }

  return {
    store: watched,
    writability: {
      isWritable: () => isWritable,
      check,
      degraded: async () => ((await check()) ? [] : ['store_not_writable']),
    },
  }
}
