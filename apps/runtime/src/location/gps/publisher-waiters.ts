/** Callers that wait until the discovery service has their fix, or knows their statement. */
import { safely } from '@selvedge/service-kit/safely'

export interface Waited {
  /** Time of the fix that a caller waits for; -Infinity for no fix. */
  readonly fixedAt: number
  /** Number of the statement that a caller waits for; 0 for no statement. */
  readonly statement: number
}

interface Waiter extends Waited {
  readonly resolve: (isPublished: boolean) => void
}

export interface Waiters {
  /** Ends the wait of all callers, or of those that `isServed` accepts. */
  settle(isPublished: boolean, isServed?: (waited: Waited) => boolean): void
  /** Resolves with false after the timeout. */
  wait(waited: Waited): Promise<boolean>
}

export function createWaiters(timeoutMs: number): Waiters {
  const waiters = new Set<Waiter>()
  function end(waiter: Waiter, isPublished: boolean): void {
    waiters.delete(waiter)
    waiter.resolve(isPublished)
  }
  return {
    settle(isPublished, isServed = () => true) {
      for (const each of waiters) if (isServed(each)) end(each, isPublished)
    },
    wait(waited) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const waiter = { ...waited, resolve }
      waiters.add(waiter)
      const timeout = setTimeout(safely('publisher.wait', end), timeoutMs, waiter, false)
      return promise.finally(() => clearTimeout(timeout))
    },
  }
}
