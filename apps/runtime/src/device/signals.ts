/** What changed on the device, without its content: the part that shows it to callers reads it again, with the checks of that moment. */
import { safely } from '@selvedge/service-kit/safely'
import type { DocumentStore } from '@selvedge/service-kit/store'

/** A part of the device that changes. `fixes`: also those of a receiver, which are not stored each. */
export type Signal = 'state' | 'fixes' | 'containers' | 'apps' | 'pulls' | 'links' | 'notices'

export interface Signals {
  send(signal: Signal): void
  /** @returns what to call when the listener is not needed any more */
  follow(listener: (signal: Signal) => void): () => void
}

export function createSignals(): Signals {
  const listeners = new Set<(signal: Signal) => void>()
  return {
    send(signal) {
      for (const listener of listeners) listener(signal)
    },
    follow(listener) {
      // What changed has changed: a listener that throws must not undo it.
      const follow = safely('signals.follow', listener)
      listeners.add(follow)
      return () => listeners.delete(follow)
    },
  }
}

/** The same store. @param onChange called after each change of the document, also a lazy one; must not throw */
export const signalling = <T>(store: DocumentStore<T>, onChange: () => void): DocumentStore<T> => ({
  get value() {
    return store.value
  },
  notices: store.notices,
  async update(change) {
    await store.update(change)
    onChange()
  },
  updateLazily(change) {
    store.updateLazily(change)
    onChange()
  },
  settled: store.settled,
  close: store.close,
})
