/** Notes when something was used, written down a moment later with others: every exchange comes here. */
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import type { SqlStore, Statement } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'

/** Milliseconds: between two writes of what was used, and by which "last used" of one thing may be behind. */
const useTimes = { writeMs: 2000, stepMs: 60_000 }

/**
 * @param what for the log, if it cannot be written
 * @param statementOf writes the time of one use, in Unix milliseconds
 * @returns notes the use of what has an ID
 */
export function createUseNotes(
  { store, clock, log }: { readonly store: SqlStore; readonly clock: Clock; readonly log: Log },
  what: string,
  statementOf: (id: string, at: number) => Statement,
): (id: string) => void {
  const noted = new RecentMap<string, number>(100_000)
  const unwritten = new Map<string, number>()

  function write(): void {
    const statements = [...unwritten].map(([id, at]) => statementOf(id, at))
    unwritten.clear()
    store
      .transaction(statements)
      .catch((cause) => log.warn(`the use of ${what} could not be noted`, { cause }))
  }

  return (id) => {
    const now = clock.now()
    if (Math.abs(now - (noted.get(id) ?? 0)) < useTimes.stepMs) return
    noted.set(id, now)
    unwritten.set(id, now)
    if (unwritten.size === 1) setTimeout(safely('useNotes.write', write), useTimes.writeMs).unref()
  }
}
