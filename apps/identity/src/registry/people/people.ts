import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { anyCredential, endLinksFor } from './link-statements.ts'
import { isLocalOwner, isOfCompany } from './local-owners.ts'
import { createMemberChanges, type MemberChanges } from './members.ts'
import type { Role } from './role.ts'

export type { Role } from './role.ts'

export interface Person {
  readonly personId: string
  readonly email: string
  /** Hash of the password as a PHC string; "" if the person has no password. */
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

export interface People extends MemberChanges {
  byId(personId: string): Promise<Person | undefined>
  byEmail(email: string): Promise<Person | undefined>
  /** Sets the password, and ends all links that were to let this person in, and every session but one. @param session to keep */
  setPassword(personId: string, password: string, session: string): Promise<void>
  /** Whether any person can sign in; if not, the installation waits for its first owner. */
  anyCredential(): Promise<boolean>
  /** Whether a person is here without a company: has a passkey, a password, recovery codes, or a membership that no company gave. */
  hasOwnSignIn(personId: string): Promise<boolean>
  /** Accounts of a person, the oldest membership first. */
  memberships(personId: string): Promise<Membership[]>
  /**
   * Those that a session reaches. One that came from a company reaches the account of the company. A local one reaches the
   * others: not those that a company gave, and those that require their company only as a local owner.
   *
   * @param companyId of the session; "" for a local one, undefined if the company is unknown by now
   */
  reach(personId: string, companyId: string | undefined): Promise<Membership[]>
  members(accountId: string): Promise<Member[]>
  /** E-mail address of the person who created a developer ID token or began a sign-in, or the `sub` of a workload; undefined if unknown. @param sid of its tokens */
  makerOf(sid: string): Promise<string | undefined>
  /** The person of a sign-in of a terminal that was not revoked; undefined without one. */
  ofSignIn(sid: string): Promise<Person | undefined>
}

export function createPeople(
  store: SqlStore,
  changes: Pick<Changes, 'commit'>,
  revocations: Pick<Revocations, 'revokeTree'>,
  clock: Clock,
): People {
  const one = async (statement: Statement) => (await store.run(statement)).map(toPerson)[0]

  return {
    ...createMemberChanges(store, revocations, clock),
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
    async hasOwnSignIn(personId) {
      const rows = await store.run({ sql: findOwnSignIn, values: [personId] })
      return rows.length > 0
    },
    ofSignIn: (sid) =>
      one(
        sql`SELECT people.* FROM sign_ins JOIN people ON people.person_id = sign_ins.person_id
          WHERE sid = ${sid} AND revoked_at IS NULL`,
      ),
    memberships: (personId) => membershipsWhere(store, personId, '1 = 1'),
    reach: async (personId, companyId) =>
      companyId === undefined
        ? []
        : companyId === ''
          ? membershipsWhere(store, personId, isLocalReach)
          : membershipsWhere(store, personId, isCompanyReach, companyId),
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
          UNION SELECT email FROM sign_ins WHERE sid = ${sid} UNION SELECT email FROM device_requests WHERE sid = ${sid}
          UNION SELECT email FROM authorization_codes WHERE sid = ${sid}
          UNION SELECT COALESCE(people.email, subject) FROM federated_subjects
            LEFT JOIN people ON people.person_id = federated_subjects.person_id WHERE subject_id = ${sid.split('.')[0]!}`,
      )
      return row?.email as string | undefined
    },
  }
}

/** A row for the person with the ID `?` who is here without a company. */
const findOwnSignIn = `SELECT 1 AS found FROM people WHERE person_id = ?
  AND (password <> '' OR EXISTS (SELECT 1 FROM passkeys WHERE passkeys.person_id = people.person_id)
    OR EXISTS (SELECT 1 FROM recovery_codes WHERE recovery_codes.person_id = people.person_id)
    OR EXISTS (SELECT 1 FROM members WHERE members.person_id = people.person_id AND NOT ${isOfCompany('members')}))`

const isLocalReach = `NOT ${isOfCompany('members')} AND (${isLocalOwner('members')} OR NOT EXISTS (SELECT 1 FROM companies
  WHERE companies.account_id = members.account_id AND companies.is_required = 1 AND companies.removed_at IS NULL))`

const isCompanyReachOf = (companyId: string) => `EXISTS (SELECT 1 FROM company_people
  JOIN companies ON companies.company_id = company_people.company_id
  WHERE companies.company_id = ${companyId} AND companies.removed_at IS NULL AND companies.account_id = members.account_id
    AND company_people.person_id = members.person_id)`
const isCompanyReach = isCompanyReachOf('?')

/** A person, and the accounts that a session of theirs reaches. */
export interface Reach {
  readonly person: Person
  readonly memberships: readonly Membership[]
}

/** Reads a {@link Reach} together with the session that it is for. */
export interface ReachQuery {
  /**
   * @param where condition on rows of `sessions`; one of them at most fulfils it
   * @param companyMethod the `method` of sessions that came from a company
   */
  statements(where: Statement, companyMethod: string): readonly [people: Statement, members: Statement]
  /** @returns undefined without a person */
  toReach(people: readonly Row[], members: readonly Row[]): Reach | undefined
}

/** The same as {@link People.byId} and {@link People.reach} for the person of a session. */
export const reachQuery: ReachQuery = {
  statements: ({ sql: where, values }, companyMethod) => [
    {
      sql: `SELECT people.* FROM sessions JOIN people ON people.person_id = sessions.person_id WHERE ${where}`,
      values,
    },
    {
      sql: `SELECT members.account_id, accounts.email, members.role FROM sessions
        LEFT JOIN company_sessions ON company_sessions.session_id = sessions.session_id
        JOIN members ON members.person_id = sessions.person_id JOIN accounts ON accounts.account_id = members.account_id
        WHERE ${where} AND CASE WHEN sessions.method = ? THEN ${isCompanyReachOf('company_sessions.company_id')}
          ELSE ${isLocalReach} END ORDER BY members.joined_at`,
      values: [...values, companyMethod],
    },
  ],
  toReach(people, members) {
    const [person] = people.map(toPerson)
    return person && { person, memberships: members.map(toMembership) }
  },
}

async function membershipsWhere(
  store: SqlStore,
  personId: string,
  where: string,
  ...values: readonly string[]
): Promise<Membership[]> {
  const rows = await store.run({
    sql: `SELECT members.account_id, accounts.email, members.role FROM members
      JOIN accounts ON accounts.account_id = members.account_id
      WHERE members.person_id = ? AND ${where} ORDER BY members.joined_at`,
    values: [personId, ...values],
  })
  return rows.map(toMembership)
}

const toMembership = (row: Row): Membership => ({
  accountId: row.account_id as string,
  name: row.email as string,
  role: row.role as Role,
})

const toPerson = (row: Row): Person => ({
  personId: row.person_id as string,
  email: row.email as string,
  password: row.password as string,
})
