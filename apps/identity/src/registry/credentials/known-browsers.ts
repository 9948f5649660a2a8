/**
 * Browsers in which a person has signed in before, identified by the key that signs their requests. Each has a separate limit of
 * attempts for that person, so that wrong passwords of strangers never lock the person out.
 */
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'

export interface KnownBrowsers {
  /** Whether a person signed in with this key before. */
  has(personId: string, jkt: string): Promise<boolean>
  /** A person has just signed in with this key. */
  remember(personId: string, jkt: string): Promise<void>
}

/** Browsers of one person; the one that was used longest ago is forgotten first. */
const maxBrowsers = 20

export function createKnownBrowsers(store: SqlStore, clock: Clock): KnownBrowsers {
  return {
    async has(personId, jkt) {
      const rows = await store.run(
        sql`SELECT 1 AS found FROM known_browsers WHERE person_id = ${personId} AND jkt = ${jkt}`,
      )
      return rows.length > 0
    },
    async remember(personId, jkt) {
      await writeInTurn(store, `browsers of ${personId}`, [
        sql`INSERT INTO known_browsers VALUES (${personId}, ${jkt}, ${clock.now()})
          ON CONFLICT (person_id, jkt) DO UPDATE SET seen_at = excluded.seen_at`,
        sql`DELETE FROM known_browsers WHERE person_id = ${personId} AND jkt IN (SELECT jkt FROM known_browsers
          WHERE person_id = ${personId} ORDER BY seen_at DESC LIMIT 1000 OFFSET ${maxBrowsers})`,
      ])
    },
  }
}
