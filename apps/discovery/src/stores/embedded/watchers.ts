/** Listeners for the new fixes of an account. */
import type { KnownLocation } from '../location-store.ts'

type Listener = (location: KnownLocation) => void

export function createWatchers() {
  const watchers = new Map<string, Set<Listener>>()
  return {
    /** Whether a fix has to be read for an account. */
    has: (accountId: string): boolean => watchers.has(accountId),
    notify(accountId: string, location: KnownLocation): void {
      for (const listener of watchers.get(accountId) ?? []) listener(location)
    },
    /** @returns a function that removes the listener */
    add(accountId: string, listener: Listener): () => void {
      const own = watchers.get(accountId) ?? new Set()
      watchers.set(accountId, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && watchers.get(accountId) === own) watchers.delete(accountId)
      }
    },
  }
}
