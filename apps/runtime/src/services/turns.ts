import { RpcError } from '@selvedge/protocol'
import { createWorkCounts } from '@selvedge/service-kit/work'

/** Runs changes of the same thing one after the other. */
export interface Turns {
  /**
   * Runs the work when all earlier work on the same thing is done, whether or not it failed.
   *
   * @throws RpcError `busy` when too many callers wait already
   */
  take<T>(thing: string, work: () => Promise<T>): Promise<T>
  /** The same for the runtime's own work, which always gets its turn. */
  takeAnyway<T>(thing: string, work: () => Promise<T>): Promise<T>
}

/** @param maxWaiting how many callers may wait for one thing */
export function createTurns(maxWaiting: number): Turns {
  const waiting = createWorkCounts()
  const last = new Map<string, Promise<unknown>>()

  async function queued<T>(thing: string, max: number, work: () => Promise<T>): Promise<T> {
    const before = waiting.of(thing)
    if (before >= max) throw new RpcError('busy', `${before} changes of ${thing} wait already`)
    return waiting.during(thing, async () => {
      const mine = (last.get(thing) ?? Promise.resolve()).then(work)
      const settled = mine.then(ignore, ignore)
      last.set(thing, settled)
      try {
        return await mine
      } finally {
        if (last.get(thing) === settled) last.delete(thing)
      }
    })
  }

  return {
    take: (thing, work) => queued(thing, maxWaiting, work),
    takeAnyway: (thing, work) => queued(thing, Number.POSITIVE_INFINITY, work),
  }
}

const ignore = (): void => undefined
