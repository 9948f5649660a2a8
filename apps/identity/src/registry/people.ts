import { RpcError } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../changes/changes.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { anyCredential, endLinksFor } from './links.ts'

export type Role = 'owner' | 'member'

export interface Person {
  readonly personId: string
  readonly email: string
  /** Hash of the password as a PHC string; "" where there is none. */
  readonly password: string
}

interface Member {
  readonly personId: string
  readonly email: string
  readonly role: Role
  readonly joinedAt: string
}

export interface Membership {
  readonly accountId: string
  /** E-mail address that the account was made with. */
  readonly name: string
  readonly role: Role
}

export interface People {
  byId(personId: string): Promise<Person | undefined>
  byEmail(email: string): Promise<Person | undefined>
  /** Sets the password, and ends all links that were to let this person in, and every session but one. @param session to keep */
  setPassword(personId: string, password: string, session: string): Promise<void>
  /** Whether any person can sign in; if not, the installation waits for its first owner. */
  anyCredential(): Promise<boolean>
  /** Accounts of a person, the oldest membership first. */
  memberships(personId: string): Promise<Membership[]>
  members(accountId: string): Promise<Member[]>
  /** E-mail address of the person who created a developer ID token or began a sign-in; undefined if unknown. @param sid of its tokens */
  makerOf(sid: string): Promise<string | undefined>
  /** @throws RpcError `not_found`, or `conflict` for the last owner */
  setRole(accountId: string, personId: string, role: Role): Promise<void>
  /**
   * Removes a member with everything that came from the membership, in one transaction: sessions, developer ID tokens, sign-ins
   * and approvals of terminals. Who is in no account then is forgotten altogether.
   *
   * @throws RpcError `not_found`, or `conflict` for the last owner
   */
  remove(accountId: string, personId: string): Promise<void>
}

export function createPeople(
  store: SqlStore,
  changes: Pick<Changes, 'commit'>,
  revocations: Pick<Revocations, 'revokeTree'>,
): People {
  const one = async (statement: Statement) => (await store.run(statement)).map(toPerson)[0]

  async function explainUnchanged(accountId: string, personId: string): Promise<never> {
    const found = await store.run(
      sql`SELECT role FROM members WHERE account_id = ${accountId} AND person_id = ${personId}`,
    )
    if (found.length === 0) throw new RpcError('not_found', 'the account has no such member')
    throw new RpcError('conflict', 'this is the last owner of the account', {
      hint: 'Make another person an owner first.',
    })
  }

  return {
    byId: (personId) => one(sql`SELECT * FROM people WHERE person_id = ${personId}`),
    byEmail: (email) => one(sql`SELECT * FROM people WHERE email = ${email}`),
    async setPassword(personId, password, session) {
      await changes.commit(
        [
          sql`UPDATE people SET password = ${password} WHERE person_id = ${personId}`,
          sql`DELETE FROM sessions WHERE person_id = ${personId} AND session_id <> ${session}`,
          ...endLinksFor(personId),
        ],
        [['person', personId]],
      )
    },
    async anyCredential() {
      const rows = await store.run({ sql: `SELECT 1 AS found WHERE ${anyCredential}`, values: [] })
      return rows.length > 0
    },
    async memberships(personId) {
      const rows = await store.run(
        sql`SELECT members.account_id, accounts.email, members.role FROM members
          JOIN accounts ON accounts.account_id = members.account_id
          WHERE members.person_id = ${personId} ORDER BY members.joined_at`,
      )
      return rows.map((row) => ({
        accountId: row.account_id as string,
        name: row.email as string,
        role: row.role as Role,
      }))
    },
    async members(accountId) {
      const rows = await store.run(
        sql`SELECT members.person_id, people.email, members.role, members.joined_at FROM members
          JOIN people ON people.person_id = members.person_id
          WHERE members.account_id = ${accountId} ORDER BY members.joined_at`,
      )
      return rows.map((row) => ({
        personId: row.person_id as string,
        email: row.email as string,
        role: row.role as Role,
        joinedAt: isoTime(row.joined_at as number),
      }))
    },
    async makerOf(sid) {
      const [row] = await store.run(
        sql`SELECT people.email FROM developer_tokens JOIN people ON people.person_id = developer_tokens.person_id
            WHERE developer_tokens.jti = ${sid}
          UNION SELECT email FROM sign_ins WHERE sid = ${sid} UNION SELECT email FROM device_requests WHERE sid = ${sid}`,
      )
      return row?.email as string | undefined
    },
    async setRole(accountId, personId, role) {
      const [, rows] = await store.transaction([
        lockAccount(accountId),
        sql`UPDATE members SET role = ${role} WHERE account_id = ${accountId} AND person_id = ${personId}
          AND (${role} = 'owner' OR EXISTS (SELECT 1 FROM members AS others
            WHERE others.account_id = members.account_id AND others.role = 'owner' AND others.person_id <> members.person_id))
          RETURNING person_id`,
        sql`DELETE FROM links WHERE account_id = ${accountId} AND made_by = ${personId} AND NOT EXISTS
          (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role = 'owner')`,
      ])
      if (rows!.length === 0) await explainUnchanged(accountId, personId)
    },
    async remove(accountId, personId) {
      // Each statement asks whether the membership is gone: the last owner keeps everything, and a repetition completes.
      const isGone = sql`NOT EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})`
      const own = sql`account_id = ${accountId} AND person_id = ${personId}`
      const where = { sql: `WHERE ${own.sql} AND ${isGone.sql}`, values: [...own.values, ...isGone.values] }
      const from = (text: string): Statement => ({ sql: `${text} ${where.sql}`, values: where.values })
      const roots = [
        from('SELECT jti AS id FROM developer_tokens'),
        from('SELECT sid AS id FROM sign_ins'),
        from('SELECT sid AS id FROM device_requests'),
      ]
      const statements = [
        lockAccount(accountId),
        sql`DELETE FROM members WHERE account_id = ${accountId} AND person_id = ${personId}
          AND (role <> 'owner' OR EXISTS (SELECT 1 FROM members AS others
            WHERE others.account_id = members.account_id AND others.role = 'owner' AND others.person_id <> members.person_id))
          RETURNING person_id`,
        from('DELETE FROM sessions'),
        sql`DELETE FROM links WHERE account_id = ${accountId} AND made_by = ${personId} AND NOT EXISTS
          (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${personId})`,
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

/**
 * Changes of the members of one account take turns: without the lock, PostgreSQL would let two owners demote each other, since
 * each transaction still sees the other one as an owner.
 */
const lockAccount = (accountId: string): Statement =>
  sql`UPDATE accounts SET created_at = created_at WHERE account_id = ${accountId}`

/** Nothing stays of a person who is in no account. */
const forgetPerson = (personId: string): readonly Statement[] =>
  ['passkeys', 'recovery_codes', 'known_browsers', 'sessions', 'people'].map((table) => ({
    sql: `DELETE FROM ${table} WHERE person_id = ? AND NOT EXISTS (SELECT 1 FROM members WHERE person_id = ?)`,
    values: [personId, personId],
  }))

const toPerson = (row: Row): Person => ({
  personId: row.person_id as string,
  email: row.email as string,
  password: row.password as string,
})
