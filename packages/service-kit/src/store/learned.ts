import type { Log } from '../log/index.ts'
import type { Change } from './change-queue.ts'
import type { DocumentStore } from './document.ts'
import { createLearnedStore, type LearnedStoreOptions } from './learned-store.ts'

/** What a document learns from outside: it is used at once, and on the disk as soon as the disk accepts it. */
export interface Learned<T> {
  /**
   * Changes the document in memory, and on the disk until that succeeds. For what can be found out again, or sent again: a crash
   * may lose it.
   *
   * @param what names it: a newer change of the same replaces a write that failed
   */
  learn(what: string, change: Change<T>): void
  /** To be called before the document closes: writes once more what is not on the disk. */
  stop(): Promise<void>
}

/** @param where names the work in the log, as `feature.work` */
export function createLearned<T>(
  store: Pick<DocumentStore<T>, 'update' | 'updateLazily'>,
  { where, log, times }: Omit<LearnedStoreOptions, 'onOutcome'> & { readonly log: Log },
): Learned<T> {
  let isFailing = false
  const learned = createLearnedStore({
    where,
    onOutcome(_what, cause) {
      const isFailure = cause !== undefined
      if (isFailure && !isFailing)
        log.warn('what was learned could not be stored; this is repeated until it succeeds', { where, cause })
      isFailing = isFailure
    },
    ...(times && { times }),
  })
  return {
    learn(what, change) {
      store.updateLazily(change)
      // `onOutcome` reports a failure.
      learned.save(what, () => store.update((value) => value)).catch(() => undefined)
    },
    stop: learned.stop,
  }
}
