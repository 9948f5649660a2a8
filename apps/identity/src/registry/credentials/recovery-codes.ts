import { createHash, randomInt } from 'node:crypto'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'

export interface RecoveryCodes {
  /** New codes; earlier codes stop working. */
  create(personId: string): Promise<string[]>
  /** Uses a code up. */
  use(personId: string, code: string): Promise<boolean>
  left(personId: string): Promise<number>
  /** Whether the person has had codes, be they used by now. */
  hadAny(personId: string): Promise<boolean>
}

const count = 10
/** No vowels, no digits that look like letters: 28^10 codes. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789'

export function createRecoveryCodes(store: SqlStore, clock: Clock): RecoveryCodes {
  return {
    async create(personId) {
      const codes = Array.from({ length: count }, () =>
        Array.from({ length: 10 }, () => alphabet[randomInt(alphabet.length)]).join(''),
      )
      await writeInTurn(store, `recovery codes of ${personId}`, [
        sql`DELETE FROM recovery_codes WHERE person_id = ${personId}`,
        ...codes.map(
          (code) => sql`INSERT INTO recovery_codes VALUES (${hashOf(personId, code)}, ${personId}, NULL)`,
        ),
      ])
      return codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`)
    },
    async use(personId, code) {
      const rows = await store.run(
        sql`UPDATE recovery_codes SET used_at = ${clock.now()}
          WHERE hash = ${hashOf(personId, code)} AND person_id = ${personId} AND used_at IS NULL RETURNING hash`,
      )
      return rows.length === 1
    },
    async left(personId) {
      const rows = await store.run(
        sql`SELECT hash FROM recovery_codes WHERE person_id = ${personId} AND used_at IS NULL`,
      )
      return rows.length
    },
    async hadAny(personId) {
      const rows = await store.run(
        sql`SELECT 1 AS one FROM recovery_codes WHERE person_id = ${personId} LIMIT 1`,
      )
      return rows.length > 0
    },
  }
}

const hashOf = (personId: string, code: string): string =>
  createHash('sha256')
    .update(`${personId} ${code.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')}`)
    .digest('base64url')
