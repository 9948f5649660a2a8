import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Revocations } from '../revocation/revocations.ts'

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
  /** The person of an address, made where there is none. */
  ensure(email: string): Promise<Person>
  setPassword(personId: string, password: string): Promise<void>
  /** Whether anybody can sign in at all; where not, the installation waits for its owner. */
  anyCredential(): Promise<boolean>
  /** Accounts of a person, the oldest membership first. */
  memberships(personId: string): Promise<Membership[]>
  members(accountId: string): Promise<Member[]>
  join(accountId: string, personId: string, role: Role): Promise<void>
  /** @throws RpcError `not_found`, or `conflict` for the last owner */
  setRole(accountId: string, personId: string, role: Role): Promise<void>
  /**
   * Removes a member with everything that came from the membership, in one transaction: sessions, developer ID tokens, sign-ins
   * and approvals of terminals.
   *
   * @throws RpcError `not_found`, or `conflict` for the last owner
   */
  remove(accountId: string, personId: string): Promise<void>
}

export function createPeople(
  store: SqlStore,
  clock: Clock,
  revocations: Pick<Revocations, 'revokeTree'>,
): People {
  const one = async (statement: Statement) => (await store.run(statement)).map(toPerson)[0]

  /** A change of one member that must leave an owner. */
  async function changeMember(change: Statement, accountId: string, personId: string): Promise<void> {
    const rows = await store.run(change)
    if (rows.length === 0) await explainUnchanged(accountId, personId)
  }

  async function explainUnchanged(accountId: string, personId: string): Promise<never> {
    const found = await store.run(
      sql`SELECT role FROM members WHERE account_id = ${accountId} AND person_id = ${personId}`,
    )
    if (found.length === 0) throw new RpcError('not_found', 'the account has no such member')
    throw new RpcError('conflict', 'this is the last owner of the account', {
      hint: 'Make somebody else an owner first.',
    })
  }

  return {
    byId: (personId) => one(sql`SELECT * FROM people WHERE person_id = ${personId}`),
    byEmail: (email) => one(sql`SELECT * FROM people WHERE email = ${email}`),
    async ensure(email) {
      await store.run(
        sql`INSERT INTO people VALUES (${randomUUID()}, ${email}, '', ${clock.now()}) ON CONFLICT (email) DO NOTHING`,
      )
      return (await one(sql`SELECT * FROM people WHERE email = ${email}`))!
    },
    async setPassword(personId, password) {
      await store.run(sql`UPDATE people SET password = ${password} WHERE person_id = ${personId}`)
    },
    async anyCredential() {
      const rows = await store.run(
        sql`SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM passkeys) OR EXISTS (SELECT 1 FROM people WHERE password <> '')`,
      )
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
    async join(accountId, personId, role) {
      await store.run(
        sql`INSERT INTO members VALUES (${accountId}, ${personId}, ${role}, ${clock.now()}) ON CONFLICT DO NOTHING`,
      )
    },
    setRole: (accountId, personId, role) =>
      changeMember(
        sql`UPDATE members SET role = ${role} WHERE account_id = ${accountId} AND person_id = ${personId}
          AND (${role} = 'owner' OR EXISTS (SELECT 1 FROM members AS others
            WHERE others.account_id = members.account_id AND others.role = 'owner' AND others.person_id <> members.person_id))
          RETURNING person_id`,
        accountId,
        personId,
      ),
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
        sql`DELETE FROM members WHERE account_id = ${accountId} AND person_id = ${personId}
          AND (role <> 'owner' OR EXISTS (SELECT 1 FROM members AS others
            WHERE others.account_id = members.account_id AND others.role = 'owner' AND others.person_id <> members.person_id))
          RETURNING person_id`,
        from('DELETE FROM sessions'),
      ]
      const { rows } = await revocations.revokeTree(
        {
          sql: roots.map((each) => each.sql).join(' UNION '),
          values: roots.flatMap((each) => each.values),
        },
        { statements, noted: [] },
      )
      if (rows[0]!.length === 0) await explainUnchanged(accountId, personId)
    },
  }
}

const toPerson = (row: Row): Person => ({
  personId: row.person_id as string,
  email: row.email as string,
  password: row.password as string,
})
