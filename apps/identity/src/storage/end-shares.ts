/**
 * The end of the shares that a person may not make any more, for the transaction that removes the right: the statement marks them,
 * and the roots are what `revokeTree` then revokes.
 */
import { type Statement, sql } from '@selvedge/service-kit/store'

export interface RevokedShares {
  readonly statement: Statement
  /** One column, `id`. */
  readonly roots: Statement
}

/** Those that a person made who is no owner of the account, or not even a member. @param now Unix milliseconds */
export const endSharesOfMaker = (accountId: string, personId: string, now: number): RevokedShares => ({
  statement: sql`UPDATE service_shares SET revoked_at = ${now} WHERE account_id = ${accountId} AND made_by = ${personId} AND revoked_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
  roots: sql`SELECT share_id AS id FROM service_shares WHERE account_id = ${accountId} AND made_by = ${personId} AND revoked_at = ${now}`,
})

/** Those of a project that is turned off. */
export const endSharesOfProject = (clientId: string, now: number): RevokedShares => ({
  statement: sql`UPDATE service_shares SET revoked_at = ${now} WHERE client_id = ${clientId} AND revoked_at IS NULL`,
  roots: sql`SELECT share_id AS id FROM service_shares WHERE client_id = ${clientId} AND revoked_at = ${now}`,
})
