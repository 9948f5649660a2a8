import { RpcError } from '@selvedge/protocol'

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
  const queues = new Map<string, { last: Promise<unknown>; length: number }>()

  async function queued<T>(thing: string, max: number, work: () => Promise<T>): Promise<T> {
    const queue = queues.get(thing) ?? { last: Promise.resolve(), length: 0 }
    if (queue.length >= max) throw new RpcError('busy', `${queue.length} changes of ${thing} wait already`)
    queues.set(thing, queue)
    queue.length++
    const mine = queue.last.then(work)
    queue.last = mine.catch(() => undefined)
    try {
      return await mine
    } finally {
      if (--queue.length === 0) queues.delete(thing)
    }
  }

  return {
    take: (thing, work) => queued(thing, maxWaiting, work),
    takeAnyway: (thing, work) => queued(thing, Number.POSITIVE_INFINITY, work),
  }
}
