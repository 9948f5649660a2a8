/**
 * Writes to the disk what was learned from outside: keys of issuers, lists of revoked tokens, when they were confirmed. It is used from
 * memory at once. A write that fails is tried again until it succeeds, so that a restart without a network knows it, too: no later than
 * {@link retryTimes}`.maxMs` after the disk works again.
 */
import { safely } from '../safely/safely.ts'

/** Milliseconds until a failed write is tried again: each time twice as long, up to a limit. */
const retryTimes = { firstMs: 1000, maxMs: 15_000 } as const

type Write = () => Promise<unknown>

export interface LearnedStore {
  /**
   * Writes what was learned. Writes under one key follow each other, and a newer one replaces one that failed. Keys are few: one for
   * each issuer.
   *
   * @param write may run again later, also after the rejection
   * @throws what the write rejected with, when it is to be tried again
   */
  save(key: string, write: Write): Promise<void>
  /** Whether a write under this key has not succeeded yet. */
  isPending(key: string): boolean
  /** Tries once more what is not written, and no more after that. */
  stop(): Promise<void>
}

export interface LearnedStoreOptions {
  /** Names the work in the log, as `feature.work`. */
  readonly where: string
  /** Called after each attempt. @param cause why it failed; undefined: it is on the disk */
  readonly onOutcome?: (key: string, cause: unknown) => void
  /** For tests. */
  readonly times?: { readonly firstMs: number; readonly maxMs: number }
}

export function createLearnedStore({
  where,
  onOutcome = () => undefined,
  times = retryTimes,
}: LearnedStoreOptions): LearnedStore {
  const pending = new Map<string, Write>()
  const turns = new Map<string, Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let delayMs = times.firstMs
  let isStopped = false

  async function attempt(key: string): Promise<void> {
    const write = pending.get(key)
    if (!write) return
    try {
      await write()
      if (pending.get(key) === write) pending.delete(key)
      if (pending.size === 0) delayMs = times.firstMs
      onOutcome(key, undefined)
    } catch (cause) {
      retryLater()
      onOutcome(key, cause)
      throw cause
    }
  }

  function retryLater(): void {
    if (timer || isStopped) return
    timer = setTimeout(safely(where, retryAll), delayMs).unref()
    delayMs = Math.min(delayMs * 2, times.maxMs)
  }

  async function retryAll(): Promise<void> {
    timer = undefined
    // `onOutcome` reports each failure.
    await Promise.allSettled([...pending.keys()].map(inTurn))
  }

  /** After what is being written under the same key. */
  function inTurn(key: string): Promise<void> {
    const before = turns.get(key)
    const turn = before
      ? before.then(
          () => attempt(key),
          () => attempt(key),
        )
      : attempt(key)
    const end = () => {
      if (turns.get(key) === turn) turns.delete(key)
    }
    turns.set(key, turn)
    turn.then(end, end)
    return turn
  }

  return {
    save(key, write) {
      pending.set(key, write)
      return inTurn(key)
    },
    isPending: (key) => pending.has(key),
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await retryAll()
    },
  }
}
