/**
 * The clock for permanent removals. A jump of the system clock does not move it, so a wrong hour must not cost revocations, keys
 * or tracks.
 */
import { createBelievedTime } from '../clock/believed-time.ts'
import type { Clock, SteadyClock } from '../clock/clock.ts'
import { safely } from '../safely/safely.ts'
import { type SqlStore, sql } from './sql.ts'

/** Milliseconds: for which a clock that was set ahead must go on before things are removed by it, and between two notes. */
const times = { settle: 86_400_000, note: 60_000 }

/**
 * Adds the steady time to a clock. It is stored in the database, in the row `steady` of the table `counters`, so that a start
 * with a
 * wrong clock removes nothing either. After a long stop it catches up a day later.
 *
 * @param monotonic milliseconds that only grow
 * @throws StoreError
 */
export async function openSteadyClock(
  store: SqlStore,
  clock: Clock,
  monotonic: () => number = () => performance.now(),
): Promise<SteadyClock & { stop(): Promise<void> }> {
  const [row] = await store.run<{ value: number }>(sql`SELECT value FROM counters WHERE name = 'steady'`)
  const believed = createBelievedTime(row?.value ?? clock.now(), monotonic, times.settle)

  function steady(): number {
    believed.note(clock.now())
    return believed.now()
  }

  async function write(): Promise<void> {
    await store.run(
      sql`INSERT INTO counters VALUES ('steady', ${steady()}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
  }

  await write()
  let notes = 0
  const timer = setInterval(
    safely('steadyClock.note', () => {
      // The store is written once an hour; the clock is looked at more often, for a jump to be seen.
      if (++notes % 60 === 0) return write()
      steady()
      return undefined
    }),
    times.note,
  )
  timer.unref()
  return {
    now: clock.now,
    steady,
    past: () => Math.min(clock.now(), steady()),
    async stop() {
      clearInterval(timer)
      await write().catch(() => undefined)
    },
  }
}
