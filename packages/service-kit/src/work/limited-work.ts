import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createWorkCount, type EndWork } from './work-count.ts'
import { announceWork, type WorkKind } from './workload.ts'

/** Work under way up to a limit that adapts ({@link createConcurrencyLimit}). */
export interface LimitedWork {
  readonly underWay: number
  /** Whether one more piece of work may begin; if not, it has to be refused. */
  hasRoom(): boolean
  /** Begins a piece of work that an event ends. */
  begin(): EndWork
  /** Runs work, and counts it until its promise has settled. Work without a promise is over when it returns, and is not counted. */
  run<T>(work: () => T): T
}

export interface LimitedWorkOptions {
  /** Route or method, and kind of the work; left out: the work of an instance of a service, of which there are many. */
  readonly announced?: { readonly kind: WorkKind; readonly name: string }
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** Milliseconds without an end of any work, since work was refused, after which a route or method counts as stalled. */
export const stalledMs = 10_000

export function createLimitedWork({
  announced,
  now = () => performance.now(),
}: LimitedWorkOptions = {}): LimitedWork {
  const limit = createConcurrencyLimit(now)
  const count = createWorkCount()
  /** When work was refused for the first time since the last end; undefined: not since then. */
  let refusedAt: number | undefined

  const begin = (begunAt = now()): EndWork =>
    count.begin(() => {
      refusedAt = undefined
      limit.ended(now() - begunAt)
    })
  if (announced) {
    const { kind, name } = announced
    const isStalled = () => refusedAt !== undefined && now() - refusedAt >= stalledMs
    announceWork({
      kind,
      underWay: () => count.underWay,
      stalled: () => (isStalled() ? name : undefined),
    })
  }
  return {
    get underWay() {
      return count.underWay
    },
    hasRoom() {
      if (limit.hasRoom(count.underWay)) return true
      refusedAt ??= now()
      return false
    },
    begin: () => begin(),
    run(work) {
      const begunAt = now()
      const result = work()
      if (!(result instanceof Promise)) return result
      const end = begin(begunAt)
      result.then(end, end)
      return result
    },
  }
}
