import { hash, randomInt } from 'node:crypto'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'

/** Lifetime of a code, in milliseconds. */
const lifetimeMs = 86_400_000
/** No vowels, no letters that look similar: 20^12 codes. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'

export interface EnrolmentCodes {
  create(): Promise<{ code: string; expiresAt: string }>
  /** Uses a code up for a node. The same node may show it again: an answer can get lost on the way. */
  redeem(code: string, nodeId: string): Promise<boolean>
}

export function createEnrolmentCodes(store: SqlStore, clock: Clock): EnrolmentCodes {
  return {
    async create() {
      const letters = Array.from({ length: 12 }, () => alphabet[randomInt(alphabet.length)]).join('')
      const expiresAt = clock.now() + lifetimeMs
      await store.run(sql`INSERT INTO enrolment_codes VALUES (${hashOf(letters)}, ${expiresAt}, '')`)
      return { code: letters.replace(/(.{4})(?=.)/g, '$1-'), expiresAt: isoTime(expiresAt) }
    },
    async redeem(code, nodeId) {
      const rows = await store.run(
        sql`UPDATE enrolment_codes SET node_id = ${nodeId}
          WHERE hash = ${hashOf(code)} AND expires_at > ${clock.now()} AND (node_id = '' OR node_id = ${nodeId})
          RETURNING hash`,
      )
      return rows.length === 1
    },
  }
}

const hashOf = (code: string): string => hash('sha256', code.toUpperCase().replaceAll('-', ''), 'base64url')
