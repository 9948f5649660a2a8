/**
 * Counts of work under way: requests, streams, uploads, statements. A piece of work is counted down exactly once, however it ends:
 * {@link WorkCount.during} follows its promise, and what {@link WorkCount.begin} returns does nothing at its second call. No other
 * code counts work (`tests/rules/work-counts.test.ts`).
 */
import { announceWork, type WorkKind } from './workload.ts'

/** Ends a piece of work. Only the first call counts. */
export type EndWork = () => void

export interface WorkCount {
  /** Pieces of work that are not complete. */
  readonly underWay: number
  /**
   * Begins a piece of work that an event ends. Work that a promise ends is counted with {@link during}.
   *
   * @param onEnd called when it ends, once
   */
  begin(onEnd?: () => void): EndWork
  /** Counts work until its promise settles. What it throws or rejects with is passed on. */
  during<T>(work: () => Promise<T>): Promise<T>
}

/** Counts of the work of several owners, such as accounts. */
export interface WorkCounts<Owner> {
  /** Work of all owners. */
  readonly underWay: number
  /** Owners with work under way. */
  readonly owners: number
  of(owner: Owner): number
  begin(owner: Owner): EndWork
  during<T>(owner: Owner, work: () => Promise<T>): Promise<T>
}

/** @param kind shows the count in the metrics; left out: another count has this work as well */
export function createWorkCount(kind?: WorkKind): WorkCount {
  let underWay = 0
  const count: WorkCount = {
    get underWay() {
      return underWay
    },
    begin(onEnd) {
      underWay++
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        underWay--
        onEnd?.()
      }
    },
    during: (work) => untilSettled(count.begin(), work),
  }
  if (kind) announceWork({ kind, underWay: () => underWay })
  return count
}

/** @param kind as in {@link createWorkCount} */
export function createWorkCounts<Owner = string>(kind?: WorkKind): WorkCounts<Owner> {
  const all = createWorkCount(kind)
  const counts = new Map<Owner, number>()
  const of = (owner: Owner) => counts.get(owner) ?? 0
  const begin = (owner: Owner) => {
    counts.set(owner, of(owner) + 1)
    return all.begin(() => {
      const left = of(owner) - 1
      if (left > 0) counts.set(owner, left)
      else counts.delete(owner)
    })
  }
  return {
    get underWay() {
      return all.underWay
    },
    get owners() {
      return counts.size
    },
    of,
    begin,
    during: (owner, work) => untilSettled(begin(owner), work),
  }
}

async function untilSettled<T>(end: EndWork, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    end()
  }
}
