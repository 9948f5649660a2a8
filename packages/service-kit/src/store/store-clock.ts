/** One clock for all processes on a database: the database's own. A replica's clock may be wrong, or be set at any time. */
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../log/index.ts'
import { safely } from '../safely/safely.ts'
import type { SqlStore } from './sql.ts'

export interface StoreClock extends Clock {
  stop(): void
}

/** Milliseconds: between two readings, for one of them to count, and of a difference that is worth a line in the log. */
const times = { intervalMs: 10_000, answerMs: 1000, notableMs: 2000 }

/**
 * The clock of a store that several processes share; of any other store the system's clock. Between two readings it advances with
 * the monotonic clock, so that setting the system's clock changes nothing. It is never ahead of the database's clock, and
 * behind it by the time that an answer takes, one second at most.
 *
 * @param monotonic milliseconds that only grow
 * @throws StoreError if the database does not return its time
 */
export async function openStoreClock(
  store: SqlStore,
  system: Clock,
  log: Log,
  monotonic: () => number = () => performance.now(),
): Promise<StoreClock> {
  const { readTime } = store
  if (!readTime) return { now: system.now, stop: () => undefined }
  let base = { time: await readTime(times.answerMs), monotonic: monotonic() }
  let warnedOf = 0
  const now = () => Math.floor(base.time + (monotonic() - base.monotonic))

  function warnOfDifference(): void {
    const difference = Math.round((system.now() - now()) / 1000)
    if (Math.abs(difference - warnedOf) * 1000 < times.notableMs) return
    warnedOf = difference
    log.warn('the clock of this server differs from that of the database, which counts', {
      secondsAhead: difference,
    })
  }

  async function read(): Promise<void> {
    const asked = monotonic()
    const time = await readTime!(times.answerMs)
    const answered = monotonic()
    if (answered - asked <= times.answerMs) base = { time, monotonic: answered }
    warnOfDifference()
  }

  warnOfDifference()
  const timer = setInterval(
    // Other statements report a database that does not answer; this clock continues meanwhile.
    safely('storeClock.read', () => read().catch(() => undefined)),
    times.intervalMs,
  )
  timer.unref()
  return { now, stop: () => clearInterval(timer) }
}
