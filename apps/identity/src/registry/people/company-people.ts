/** People who sign in with the provider of a company: linked by the `sub` of its ID tokens, never by an e-mail address. */
import { randomBytes, randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import type { CompanyRule } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { Company } from './companies.ts'
import { isLocalOwner, isOfCompany } from './local-owners.ts'
import { lockAccount, type MemberChanges } from './members.ts'

type Role = CompanyRule['role']

export interface CompanyPeople {
  /** The person that is linked to a `sub`; undefined without one. */
  find(companyId: string, subject: string): Promise<string | undefined>
  /** IDs of the companies that a person is linked to. */
  linksOf(personId: string): Promise<ReadonlySet<string>>
  /**
   * Makes the person of a `sub` a member of the account with a role, in one transaction. A new person is made if the `sub` is linked to no
   * person. The last local owner stays an owner.
   *
   * @param email that the provider states; undefined without one of the domain of the company
   * @returns person ID
   * @throws RpcError `limit_exceeded` if the account is full, `conflict` if the company was removed
   */
  admit(company: Company, subject: string, role: Role, email: string | undefined): Promise<string>
  /** Removes the person of a `sub` from the account, and ends what came from the membership. The last local owner stays, without sessions of the company. */
  dismiss(company: Company, subject: string): Promise<void>
  /** Links a `sub` to a person who is signed in. @throws RpcError `conflict` if one of them is linked already */
  linkPerson(company: Company, subject: string, personId: string): Promise<void>
  /** Ends the link of a person. @throws RpcError `not_found`, or `conflict` if the membership comes from the company */
  unlinkPerson(companyId: string, personId: string): Promise<void>
}

export interface CompanyPeopleParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'commit'>
  readonly people: Pick<MemberChanges, 'setRole' | 'remove'>
  readonly maxMembers: number
}

export function createCompanyPeople(parts: CompanyPeopleParts): CompanyPeople {
  const { store, changes, people } = parts

  async function find(companyId: string, subject: string): Promise<string | undefined> {
    const [row] = await store.run(
      sql`SELECT person_id FROM company_people WHERE company_id = ${companyId} AND subject = ${subject}`,
    )
    return row?.person_id as string | undefined
  }

  async function linksOf(personId: string): Promise<ReadonlySet<string>> {
    const rows = await store.run(sql`SELECT company_id FROM company_people WHERE person_id = ${personId}`)
    return new Set(rows.map((row) => row.company_id as string))
  }

  async function endSessions(companyId: string, personId: string, ...more: readonly Statement[]) {
    await changes.commit(
      [
        sql`DELETE FROM sessions WHERE person_id = ${personId} AND session_id IN
          (SELECT session_id FROM company_sessions WHERE company_id = ${companyId})`,
        ...more,
      ],
      [['person', personId]],
    )
  }

  return {
    find,
    linksOf,
    admit: createAdmit(parts),
    async dismiss({ companyId, accountId }, subject) {
      const personId = await find(companyId, subject)
      if (personId === undefined) return
      await endSessions(companyId, personId)
      await people.remove(accountId, personId).catch(ignoreRefusal)
    },
    linkPerson: createLink(parts, find),
    async unlinkPerson(companyId, personId) {
      const [row] = await store.run(
        sql`SELECT account_id, local_role FROM company_people WHERE company_id = ${companyId} AND person_id = ${personId}`,
      )
      if (!row) throw new RpcError('not_found', 'you are not linked to this company')
      const { account_id: accountId, local_role: localRole } = row
      if (localRole === '')
        throw new RpcError('conflict', 'you are in the account by the rules of the company', {
          hint: 'Ask an owner to remove you from the account.',
        })
      // What a rule gave ends with the link.
      if (localRole === 'member') await people.setRole(accountId as string, personId, 'member')
      await endSessions(companyId, personId, lockAccount(accountId as string), endLink(companyId, personId))
      // A sign-in with the company at the same moment gave the role again.
      if ((await linksOf(personId)).has(companyId))
        throw new RpcError('conflict', 'the company changed your role at the same moment; try again')
    },
  }
}

/** Unless the person has a role that only the company gave. */
const endLink = (companyId: string, personId: string): Statement =>
  sql`DELETE FROM company_people WHERE company_id = ${companyId} AND person_id = ${personId} AND local_role <> ''
    AND (local_role = 'owner' OR NOT EXISTS (SELECT 1 FROM members WHERE members.account_id = company_people.account_id
      AND members.person_id = company_people.person_id AND members.role = 'owner'))`

/** The last local owner stays, and a person may be no member any more, or not linked any more. */
function ignoreRefusal(cause: unknown): void {
  if (!(cause instanceof RpcError)) throw cause
}

function createAdmit({ store, clock, people, maxMembers }: CompanyPeopleParts): CompanyPeople['admit'] {
  /** @returns the person, or undefined if another person has the address, or the account is full */
  async function attempt(company: Company, subject: string, role: Role, email: string) {
    const { companyId, accountId } = company
    const [personId, now] = [randomUUID(), clock.now()]
    const rows = await writeInTurn(store, `members of ${accountId}`, [
      lockAccount(accountId),
      sql`INSERT INTO people SELECT CAST(${personId} AS TEXT), CAST(${email} AS TEXT), '', CAST(${now} AS BIGINT) FROM companies
        WHERE company_id = ${companyId} AND removed_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM company_people WHERE company_id = ${companyId} AND subject = ${subject})
          AND (SELECT COUNT(*) FROM members WHERE account_id = ${accountId}) < ${maxMembers}
        ON CONFLICT (email) DO NOTHING`,
      sql`INSERT INTO company_people SELECT CAST(${companyId} AS TEXT), CAST(${subject} AS TEXT), person_id,
          CAST(${accountId} AS TEXT), '', CAST(${now} AS BIGINT), CAST(${now} AS BIGINT) FROM people WHERE person_id = ${personId}`,
      insertMember(company, subject, role, now, maxMembers),
      sql`UPDATE company_people SET last_used_at = ${now} WHERE company_id = ${companyId} AND subject = ${subject}
        AND EXISTS (SELECT 1 FROM members WHERE members.account_id = company_people.account_id
          AND members.person_id = company_people.person_id) RETURNING person_id`,
    ])
    return rows.at(-1)![0]?.person_id as string | undefined
  }

  /** Also ends what a person made who is no owner any more. The last local owner stays one. */
  async function giveRole({ accountId, companyId }: Company, personId: string, role: Role): Promise<void> {
    const [other] = await store.run(
      sql`SELECT role FROM members WHERE account_id = ${accountId} AND person_id = ${personId} AND role <> ${role}`,
    )
    if (other) await people.setRole(accountId, personId, role, companyId).catch(ignoreRefusal)
  }

  return async (company, subject, role, email) => {
    // An address that another person has here is no proof of anything: the new person gets a name beside it, which cannot be foreseen.
    const name = randomBytes(6).toString('hex')
    const [local = 'person'] = email?.split('@') ?? []
    const admitted =
      (email !== undefined && (await attempt(company, subject, role, email))) ||
      (await attempt(company, subject, role, `${local.slice(0, 40)}+${name}@${company.domain}`))
    if (admitted) {
      await giveRole(company, admitted, role)
      return admitted
    }
    const [removed] = await store.run(
      sql`SELECT 1 AS found WHERE NOT EXISTS (SELECT 1 FROM companies WHERE company_id = ${company.companyId} AND removed_at IS NULL)`,
    )
    if (removed)
      throw new RpcError('conflict', `the company ${company.domain} was removed at the same moment`)
    throw new RpcError('limit_exceeded', `the account has ${maxMembers} members already`, {
      hint: 'Ask an owner to remove members who left, or the operator to raise limits.members.',
    })
  }
}

/** Adds the membership, unless there is one. */
function insertMember(
  { companyId, accountId }: Company,
  subject: string,
  role: Role,
  now: number,
  maxMembers: number,
): Statement {
  return {
    sql: `INSERT INTO members SELECT account_id, person_id, CAST(? AS TEXT), CAST(? AS BIGINT) FROM company_people
      WHERE company_id = ? AND subject = ?
        AND EXISTS (SELECT 1 FROM companies WHERE companies.company_id = company_people.company_id AND removed_at IS NULL)
        AND ((SELECT COUNT(*) FROM members WHERE account_id = ?) < ?
        OR EXISTS (SELECT 1 FROM members WHERE members.account_id = company_people.account_id
          AND members.person_id = company_people.person_id))
      ON CONFLICT (account_id, person_id) DO NOTHING`,
    values: [role, now, companyId, subject, accountId, maxMembers],
  }
}

function createLink(
  { store, clock }: CompanyPeopleParts,
  find: CompanyPeople['find'],
): CompanyPeople['linkPerson'] {
  return async ({ companyId, accountId }, subject, personId) => {
    const now = clock.now()
    const [, rows] = await store.transaction([
      lockAccount(accountId),
      {
        sql: `INSERT INTO company_people SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
            COALESCE((SELECT CASE WHEN ${isOfCompany('members')} THEN '' WHEN ${isLocalOwner('members')} THEN 'owner' ELSE 'member' END
              FROM members WHERE account_id = ? AND person_id = ?), ''), CAST(? AS BIGINT), CAST(? AS BIGINT)
          FROM companies WHERE company_id = ? AND removed_at IS NULL ON CONFLICT DO NOTHING RETURNING person_id`,
        values: [companyId, subject, personId, accountId, accountId, personId, now, now, companyId],
      },
    ])
    if (rows!.length === 1 || (await find(companyId, subject)) === personId) return
    throw new RpcError(
      'conflict',
      'this sign-in of the company, or your person, is linked to another one already',
      {
        hint: 'Sign in with the company as the other person, or unlink it first.',
      },
    )
  }
}
