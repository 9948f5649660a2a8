import { RpcError } from '@selvedge/protocol'

/** Lets those who change the same thing go one after the other. */
export interface Turns {
  /** Runs the work when all that came before it for the same thing is done, well or not. @throws RpcError `busy` */
  take<T>(thing: string, work: () => Promise<T>): Promise<T>
}

/** @param most how many may wait for one thing */
export function createTurns(most: number): Turns {
  const queues = new Map<string, { last: Promise<unknown>; length: number }>()
  return {
    async take(thing, work) {
      const queue = queues.get(thing) ?? { last: Promise.resolve(), length: 0 }
      if (queue.length >= most) throw new RpcError('busy', `${queue.length} changes of ${thing} wait already`)
      queues.set(thing, queue)
      queue.length++
      const mine = queue.last.then(work, work)
      queue.last = mine.catch(() => undefined)
      return mine.finally(() => {
        if (--queue.length === 0) queues.delete(thing)
      })
    },
  }
}
