/**
 * The end of the shares and join keys that a person may not make any more, for the transaction that removes the right: the statements mark
 * them, and the roots are what `revokeTree` then revokes.
 */
import { type Statement, sql } from '@selvedge/service-kit/store'

export interface RevokedShares {
  readonly statements: readonly Statement[]
  /** One column, `id`. */
  readonly roots: Statement
}

/** Those that a person made who is no owner of the account, or not even a member. @param now Unix milliseconds */
export const endSharesOfMaker = (accountId: string, personId: string, now: number): RevokedShares => ({
  statements: [
    sql`UPDATE service_shares SET revoked_at = ${now} WHERE account_id = ${accountId} AND made_by = ${personId} AND revoked_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
    sql`UPDATE join_keys SET revoked_at = ${now} WHERE account_id = ${accountId} AND made_by = ${personId} AND revoked_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
  ],
  roots: sql`SELECT share_id AS id FROM service_shares WHERE account_id = ${accountId} AND made_by = ${personId} AND revoked_at = ${now}`,
})

/** What a person could use who is no member of the account any more: as a guest as well, by a share or a group. @param now Unix milliseconds */
export const endSharesWith = (accountId: string, personId: string, now: number): RevokedShares => {
  const isGone = sql`NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})`
  const ofAccount = sql`group_id IN (SELECT group_id FROM person_groups WHERE account_id = ${accountId})`
  const unless = ({ sql: text, values }: Statement): Statement => ({
    sql: `${text} AND revoked_at IS NULL AND ${isGone.sql}`,
    values: [...values, ...isGone.values],
  })
  return {
    statements: [
      unless(
        sql`UPDATE service_shares SET revoked_at = ${now} WHERE account_id = ${accountId} AND person_id = ${personId}`,
      ),
      unless({
        sql: `UPDATE group_members SET revoked_at = ? WHERE person_id = ? AND ${ofAccount.sql}`,
        values: [now, personId, ...ofAccount.values],
      }),
    ],
    roots: {
      sql: `SELECT share_id AS id FROM service_shares WHERE account_id = ? AND person_id = ? AND revoked_at = ?
        UNION SELECT member_id AS id FROM group_members WHERE person_id = ? AND revoked_at = ? AND ${ofAccount.sql}`,
      values: [accountId, personId, now, personId, now, ...ofAccount.values],
    },
  }
}

/** Those of a project that is turned off; its join keys as well. */
export const endSharesOfProject = (clientId: string, now: number): RevokedShares => ({
  statements: [
    sql`UPDATE service_shares SET revoked_at = ${now} WHERE client_id = ${clientId} AND revoked_at IS NULL`,
    sql`UPDATE join_keys SET revoked_at = ${now} WHERE client_id = ${clientId} AND revoked_at IS NULL`,
  ],
  roots: sql`SELECT share_id AS id FROM service_shares WHERE client_id = ${clientId} AND revoked_at = ${now}`,
})
