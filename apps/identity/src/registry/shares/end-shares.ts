/**
 * The end of the shares that somebody may not make any more, for the transaction that takes the right away: the statement marks them,
 * and the roots are what `revokeTree` then revokes.
 */
import { type Statement, sql } from '@selvedge/service-kit/store'

export interface EndedShares {
  readonly statement: Statement
  /** One column, `id`. */
  readonly roots: Statement
}

/** Those that a person made who is no owner of the account, or not even a member. @param now Unix milliseconds */
export const endSharesOfMaker = (accountId: string, personId: string, now: number): EndedShares => ({
  statement: sql`UPDATE service_shares SET ended_at = ${now} WHERE account_id = ${accountId} AND made_by = ${personId} AND ended_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
  roots: sql`SELECT share_id AS id FROM service_shares WHERE account_id = ${accountId} AND made_by = ${personId} AND ended_at = ${now}`,
})

/** Those of a project that is turned off. */
export const endSharesOfProject = (clientId: string, now: number): EndedShares => ({
  statement: sql`UPDATE service_shares SET ended_at = ${now} WHERE client_id = ${clientId} AND ended_at IS NULL`,
  roots: sql`SELECT share_id AS id FROM service_shares WHERE client_id = ${clientId} AND ended_at = ${now}`,
})
