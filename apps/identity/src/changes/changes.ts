/**
 * What replicas tell each other. Each change that another replica may have in memory is written down under the next number,
 * in the transaction that makes it; each replica follows the numbers: at once when it is woken, else by looking every second.
 */

import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { shareRun } from '@selvedge/service-kit/share'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

export type Topic = 'keys' | 'revocation' | 'project' | 'node'

export interface Changes {
  /** Called with the subject of each change of a topic, those of this process included. */
  on(topic: Topic, listener: (subject: string) => void | Promise<void>): void
  /** Runs statements in one transaction together with the note of what they change, and tells everybody. */
  commit(statements: readonly Statement[], noted: readonly (readonly [Topic, string])[]): Promise<Row[][]>
  stop(): Promise<void>
}

/** Milliseconds between two looks, and for which a change stays written down: far longer than any replica sleeps. */
const times = { look: 1000, keep: 3_600_000 }

export async function openChanges(store: SqlStore, clock: Clock, log: Log): Promise<Changes> {
  const listeners = new Map<Topic, ((subject: string) => void | Promise<void>)[]>()
  let seen = await newest()
  let isWanted = false

  async function newest(): Promise<number> {
    const rows = await store.run(sql`SELECT value FROM counters WHERE name = 'changes'`)
    return rows[0]!.value as number
  }

  async function tell(topic: Topic, subject: string): Promise<void> {
    for (const each of listeners.get(topic) ?? []) await each(subject)
  }

  async function follow(): Promise<void> {
    do {
      isWanted = false
      const rows = await store.run(
        sql`SELECT seq, topic, subject FROM changes WHERE seq > ${seen} ORDER BY seq`,
      )
      for (const { seq, topic, subject } of rows) {
        await tell(topic as Topic, subject as string)
        seen = seq as number
      }
    } while (isWanted)
  }

  const run = shareRun(() =>
    follow().catch((cause) => log.warn('the changes of other replicas could not be read', { cause })),
  )
  /** One at a time; who asks while one runs gets another after it. */
  function look(): Promise<void> {
    isWanted = true
    return run()
  }

  store.onWake(safely('changes.wake', look))
  const timer = store.isShared ? setInterval(safely('changes.look', look), times.look) : undefined
  timer?.unref()

  return {
    on(topic, listener) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), listener])
    },
    async commit(statements, noted) {
      const now = clock.now()
      const notes = noted.flatMap(([topic, subject]) => [
        // The row of the counter is locked until the end of the transaction: numbers become visible in their order.
        sql`UPDATE counters SET value = value + 1 WHERE name = 'changes'`,
        sql`INSERT INTO changes SELECT value, CAST(${topic} AS TEXT), CAST(${subject} AS TEXT), CAST(${now} AS BIGINT)
          FROM counters WHERE name = 'changes'`,
      ])
      const rows = await store.transaction([
        ...notes,
        ...statements,
        sql`DELETE FROM changes WHERE at < ${now - times.keep}`,
      ])
      await look()
      await store.wakeOthers()
      return rows.slice(notes.length, -1)
    },
    async stop() {
      clearInterval(timer)
      await run.present()
    },
  }
}
