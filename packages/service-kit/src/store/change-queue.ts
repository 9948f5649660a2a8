/**
 * The changes of a document in memory. What others see is what is on the disk, with lazy changes on top: a change that is
 * being written is seen once it is on the disk, and one that cannot be written is never seen.
 */
import { reportFailure } from '../safely/safely.ts'

export type Change<T> = (value: T) => T

interface Queued<T> {
  readonly apply: Change<T>
  /** Undefined for a lazy change, for which no caller waits. */
  readonly caller: { resolve(): void; reject(cause: unknown): void } | undefined
}

export interface ChangeQueue<T> {
  readonly value: T
  /** Whether a caller waits for a change to be written. */
  readonly isWaiting: boolean
  /** Resolves when the change was written. @throws what the change throws; then nothing was changed */
  add(change: Change<T>): Promise<void>
  addLazily(change: Change<T>): void
  /** The document to write now, and what to call when it was written or not. */
  take(): { readonly value: T; written(): void; failed(cause: unknown): void }
}

export function createChangeQueue<T>(stored: T): ChangeQueue<T> {
  /** The document with every change that is settled; then with the lazy ones of the queue, and with all of the queue. */
  let base = stored
  let value = stored
  let latest = stored
  let queue: Queued<T>[] = []

  /** The document with changes applied in their order. One that throws now is refused and left out. */
  function fold(from: T, changes: readonly Queued<T>[]): { result: T; applied: Queued<T>[] } {
    let result = from
    const applied = changes.filter(({ apply, caller }) => {
      try {
        result = apply(result)
        return true
      } catch (cause) {
        if (caller) caller.reject(cause)
        else reportFailure('document.change', cause)
        return false
      }
    })
    return { result, applied }
  }

  function settle(settled: T, rest: readonly Queued<T>[]): void {
    base = settled
    const all = fold(base, rest)
    queue = all.applied
    latest = all.result
    const isLazyOnly = queue.every(({ caller }) => !caller)
    if (isLazyOnly) {
      queue = []
      base = latest
    }
    value = isLazyOnly
      ? latest
      : fold(
          base,
          queue.filter(({ caller }) => !caller),
        ).result
  }

  return {
    get value() {
      return value
    },
    get isWaiting() {
      return queue.length > 0
    },
    async add(apply) {
      latest = apply(latest)
      await new Promise<void>((resolve, reject) => queue.push({ apply, caller: { resolve, reject } }))
    },
    addLazily(apply) {
      if (queue.length === 0) {
        base = latest = value = apply(base)
        return
      }
      const seen = apply(value)
      latest = apply(latest)
      value = seen
      queue.push({ apply, caller: undefined })
    },
    take() {
      const batch = queue.length
      const written = latest
      return {
        value: written,
        written() {
          const done = queue.slice(0, batch)
          settle(written, queue.slice(batch))
          for (const { caller } of done) caller?.resolve()
        },
        failed(cause) {
          const done = queue.slice(0, batch)
          const lazy = fold(
            base,
            done.filter(({ caller }) => !caller),
          )
          settle(lazy.result, queue.slice(batch))
          for (const { caller } of done) caller?.reject(cause)
        },
      }
    },
  }
}
