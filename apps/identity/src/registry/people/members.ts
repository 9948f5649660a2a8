/** Changes of the members of an account. An account always has an owner. */
import { RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { endSharesOfMaker, endSharesWith } from '../../storage/end-shares.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { isSpare } from './local-owners.ts'
import type { Role } from './role.ts'

export interface MemberChanges {
  /**
   * Who is no owner any more loses the links and the shares that the person made, and is no local owner any more.
   *
   * @param companyId of the company with the rule that gives the role, while the person is linked to it; absent: an owner gives it
   * @throws RpcError `not_found`, or `conflict` for the last owner or without that link
   */
  setRole(accountId: string, personId: string, role: Role, companyId?: string): Promise<void>
  /**
   * Removes a member with everything that came from the membership, in one transaction: sessions, developer ID tokens, sign-ins,
   * approvals of terminals, and shares by and with the person. Who is in no account then is forgotten altogether.
   *
   * @throws RpcError `not_found`, or `conflict` for the last owner
   */
  remove(accountId: string, personId: string): Promise<void>
}

export function createMemberChanges(
  store: SqlStore,
  revocations: Pick<Revocations, 'revokeTree'>,
  clock: Clock,
): MemberChanges {
  async function explainUnchanged(accountId: string, personId: string): Promise<never> {
    const found = await store.run(
      sql`SELECT role FROM members WHERE account_id = ${accountId} AND person_id = ${personId}`,
    )
    if (found.length === 0) throw new RpcError('not_found', 'the account has no such member')
    throw new RpcError('conflict', 'this is the last owner of the account', {
      hint: 'Make another person an owner first; an owner by the rules of a company does not count.',
    })
  }

  return {
    async setRole(accountId, personId, role, companyId) {
      const shares = endSharesOfMaker(accountId, personId, clock.now())
      const statements = [
        lockAccount(accountId),
        {
          sql: updateRole,
          values: [role, accountId, personId, role, companyId ?? null, companyId ?? null],
        },
        lowerLocalRole(accountId, personId),
        sql`DELETE FROM links WHERE account_id = ${accountId} AND made_by = ${personId} AND NOT EXISTS
          (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
        ...shares.statements,
      ]
      const { rows } = await revocations.revokeTree(shares.roots, { statements, noted: [] })
      if (rows[1]!.length === 0) await explainUnchanged(accountId, personId)
    },
    async remove(accountId, personId) {
      // Each statement checks that the membership was removed: the last owner loses nothing, and a repetition completes the removal.
      const isGone = sql`NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})`
      const own = sql`account_id = ${accountId} AND person_id = ${personId}`
      const now = clock.now()
      const ended = [endSharesOfMaker(accountId, personId, now), endSharesWith(accountId, personId, now)]
      const where = { sql: `WHERE ${own.sql} AND ${isGone.sql}`, values: [...own.values, ...isGone.values] }
      const from = (text: string): Statement => ({ sql: `${text} ${where.sql}`, values: where.values })
      const roots = [
        from('SELECT jti AS id FROM developer_tokens'),
        from('SELECT sid AS id FROM sign_ins'),
        from('SELECT sid AS id FROM device_requests'),
        from('SELECT sid AS id FROM authorization_codes'),
        from(`SELECT subject_id || '.' || CAST(generation AS TEXT) AS id FROM federated_subjects`),
        ...ended.map((each) => each.roots),
      ]
      const statements = [
        lockAccount(accountId),
        {
          sql: `DELETE FROM members WHERE account_id = ? AND person_id = ? AND ${isSpare} RETURNING person_id`,
          values: [accountId, personId],
        },
        from('DELETE FROM sessions'),
        // What a company gives next is of the company alone.
        from("UPDATE company_people SET local_role = ''"),
        sql`DELETE FROM links WHERE account_id = ${accountId} AND made_by = ${personId} AND NOT EXISTS
          (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})`,
        ...ended.flatMap((each) => each.statements),
        ...forgetPerson(personId),
      ]
      const { rows } = await revocations.revokeTree(
        {
          sql: roots.map((each) => each.sql).join(' UNION '),
          values: roots.flatMap((each) => each.values),
        },
        { statements, noted: [['person', personId]] },
      )
      if (rows[1]!.length === 0) await explainUnchanged(accountId, personId)
    },
  }
}

/** Who is no owner any more is no local owner, also after a later rule gives the role again. */
const lowerLocalRole = (accountId: string, personId: string): Statement =>
  sql`UPDATE company_people SET local_role = 'member' WHERE account_id = ${accountId} AND person_id = ${personId}
    AND local_role = 'owner' AND EXISTS
    (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'member')`

/** Condition on a row of `members`: the person is linked to the company with the ID `?`, which was not removed. */
const isLinkedTo = `EXISTS (SELECT 1 FROM company_people JOIN companies ON companies.company_id = company_people.company_id
  WHERE company_people.company_id = ? AND company_people.person_id = members.person_id AND companies.removed_at IS NULL)`

/** Its values: the role, account ID, person ID, the role again, and twice the company ID or null. */
const updateRole = `UPDATE members SET role = ? WHERE account_id = ? AND person_id = ? AND (? = 'owner' OR ${isSpare})
  AND (CAST(? AS TEXT) IS NULL OR ${isLinkedTo}) RETURNING person_id`

/**
 * Changes of the members of one account take turns: without the lock, PostgreSQL would let two owners demote each other, since
 * each transaction still sees the other one as an owner.
 */
export const lockAccount = (accountId: string): Statement =>
  sql`UPDATE accounts SET created_at = created_at WHERE account_id = ${accountId}`

/** Nothing stays of a person who is in no account. */
const forgetPerson = (personId: string): readonly Statement[] =>
  ['passkeys', 'recovery_codes', 'known_browsers', 'sessions', 'people'].map((table) => ({
    sql: `DELETE FROM ${table} WHERE person_id = ? AND NOT EXISTS (SELECT 1 FROM members WHERE person_id = ?)`,
    values: [personId, personId],
  }))
