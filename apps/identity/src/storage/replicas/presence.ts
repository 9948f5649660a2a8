/** How many replicas there are: each serves its share of what callers may ask for, so that more replicas allow no more. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

export interface Presence {
  /** Replicas that were seen of late, this one included; 1 if the store is of one process. */
  count(): number
  stop(): Promise<void>
}

/** Milliseconds: between two signs of life, and after which a replica without one is gone. */
const times = { intervalMs: 5000, goneMs: 20_000 }

export async function openPresence(store: SqlStore, clock: Clock, log: Log): Promise<Presence> {
  if (!store.isShared) return { count: () => 1, stop: async () => {} }
  const id = randomUUID()
  let count = 1

  async function show(): Promise<void> {
    const now = clock.now()
    const rows = await store.transaction([
      sql`INSERT INTO replicas VALUES (${id}, ${now}) ON CONFLICT (replica_id) DO UPDATE SET seen_at = ${now}`,
      sql`DELETE FROM replicas WHERE seen_at < ${now - times.goneMs}`,
      sql`SELECT COUNT(*) AS total FROM replicas`,
    ])
    count = Math.max(1, Number(rows[2]![0]!.total))
  }
  await show()
  // Without the database the number stays as it was.
  const showAgain = () =>
    show().catch((cause) => log.debug('this replica could not be shown to the others', { cause }))
  const timer = setInterval(safely('presence.show', showAgain), times.intervalMs)
  timer.unref()

  return {
    count: () => count,
    async stop() {
      clearInterval(timer)
      await store.run(sql`DELETE FROM replicas WHERE replica_id = ${id}`).catch(() => undefined)
    },
  }
}
