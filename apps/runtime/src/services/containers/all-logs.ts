/** Follows the logs of several containers at once. While nothing follows them, lines cost nothing. */
import type { LogLine } from '@selvedge/protocol'
import type { ContainerLog } from './logs.ts'

type OnLine = (key: string, line: LogLine) => void

interface Follower {
  readonly prefix: string
  readonly onLine: OnLine
  /** What ends the following of each log, by key. */
  readonly stops: Map<string, () => void>
}

/** @param entries the logs that exist, by key */
export function createAllLogs(entries: ReadonlyMap<string, { readonly log: ContainerLog }>) {
  const followers = new Set<Follower>()

  function attach({ prefix, onLine, stops }: Follower, key: string, log: ContainerLog): void {
    if (!key.startsWith(prefix)) return
    // A container that was removed and deployed again has another log.
    stops.get(key)?.()
    stops.set(
      key,
      log.follow((line) => onLine(key, line)),
    )
  }

  return {
    /** To be called with each new log. */
    added(key: string, log: ContainerLog): void {
      for (const follower of followers) attach(follower, key, log)
    },
    /** @param prefix of the keys of the containers @returns what to call when no more lines are needed */
    follow(prefix: string, onLine: OnLine): () => void {
      const follower: Follower = { prefix, onLine, stops: new Map() }
      followers.add(follower)
      for (const [key, { log }] of entries) attach(follower, key, log)
      return () => {
        followers.delete(follower)
        for (const stop of follower.stops.values()) stop()
      }
    },
  }
}
