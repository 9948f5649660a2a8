/** Companies with an OpenID provider of their own for the sign-in to the console. The operator decides which account a domain belongs to. */
import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type CompanyRule, domainProblem, issuerUrlProblem, rulesProblem } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Seal } from '../../storage/secrets/seal.ts'
import type { SweepTask } from '../../storage/sweep/sweep.ts'
import type { MemberChanges } from './members.ts'

/** How this service authenticates at the token endpoint of a provider; `private_key_jwt`: with its signing key (RFC 7523). */
type CompanyClientAuth = 'none' | 'client_secret' | 'private_key_jwt'

export interface Company {
  readonly companyId: string
  readonly accountId: string
  /** In lower case. */
  readonly domain: string
  /** URL as the ID tokens name it, character by character. */
  readonly issuer: string
  readonly clientId: string
  readonly clientAuth: CompanyClientAuth
  readonly rules: readonly CompanyRule[]
  /** Whether people of the account who are no local owners have to use it. */
  readonly isRequired: boolean
  /** Whether the provider may be on this machine or in a private network. */
  readonly allowsPrivate: boolean
  readonly createdAt: string
}

type NewCompany = Omit<Company, 'companyId' | 'createdAt' | 'isRequired'> & {
  readonly clientSecret: string | null
}

export interface Companies {
  /** @throws RpcError `invalid_params`, or `already_exists` for a domain that a company has */
  create(company: NewCompany): Promise<Company>
  byDomain(domain: string): Promise<Company | undefined>
  /** As it is now; undefined if it was removed. */
  byId(companyId: string): Promise<Company | undefined>
  /** All of them, or those of an account, by domain; with the number of linked people. */
  list(accountId?: string): Promise<readonly (Company & { readonly people: number })[]>
  /** The client secret. Only for a request to the token endpoint of the provider. */
  secretOf(companyId: string): Promise<string>
  /** @throws RpcError `invalid_params`, `not_found` */
  update(company: Pick<Company, 'companyId' | 'accountId' | 'rules' | 'isRequired'>): Promise<void>
  /** Ends its sessions, then the memberships that it gave with everything that came from them, and the roles that its rules gave to local members. */
  remove(company: Company): Promise<void>
  /** Completes removals that were interrupted. */
  readonly task: SweepTask
}

export interface CompaniesParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'commit'>
  readonly seal: Seal
  readonly people: Pick<MemberChanges, 'remove' | 'setRole'>
  /** URL of this service. */
  readonly issuer: () => string
}

export function createCompanies(parts: CompaniesParts): Companies {
  const { store, clock, changes, seal } = parts
  const one = async (statement: Statement) => (await store.run(statement)).map(toCompany)[0]
  const finishRemovals = createFinishRemovals(parts)

  return {
    byDomain: (domain) => one(sql`SELECT * FROM companies WHERE domain = ${domain} AND removed_at IS NULL`),
    byId: (id) => one(sql`SELECT * FROM companies WHERE company_id = ${id} AND removed_at IS NULL`),
    async list(accountId) {
      const rows = await store.run(
        sql`SELECT companies.*, (SELECT COUNT(*) FROM company_people WHERE company_people.company_id = companies.company_id) AS people
          FROM companies WHERE removed_at IS NULL AND (CAST(${accountId ?? null} AS TEXT) IS NULL OR account_id = ${accountId ?? null})
          ORDER BY domain`,
      )
      return rows.map((row) => ({ ...toCompany(row), people: Number(row.people) }))
    },
    async create(company) {
      const problem = problemWith(company, parts.issuer())
      if (problem !== undefined) throw new RpcError('invalid_params', problem)
      const companyId = randomUUID()
      const secret =
        company.clientSecret === null ? '' : seal.close(company.clientSecret, purposeOf(companyId))
      const [row] = await store.run(insertCompany(companyId, company, secret, clock.now()))
      if (row) return toCompany(row)
      throw new RpcError('already_exists', `there is a company with the domain ${company.domain} already`, {
        hint: `Remove it first: selvedge admin company remove ${company.domain}`,
      })
    },
    async secretOf(companyId) {
      const [row] = await store.run(sql`SELECT client_secret FROM companies WHERE company_id = ${companyId}`)
      return row ? seal.open(row.client_secret as string, purposeOf(companyId)) : ''
    },
    async update({ companyId, accountId, rules, isRequired }) {
      const problem = rulesProblem(rules)
      if (problem !== undefined) throw new RpcError('invalid_params', problem)
      const [rows] = await changes.commit(
        [
          sql`UPDATE companies SET rules = ${JSON.stringify(rules)}, is_required = ${isRequired ? 1 : 0}
            WHERE company_id = ${companyId} AND account_id = ${accountId} AND removed_at IS NULL RETURNING company_id`,
        ],
        [['person', '']],
      )
      if (rows!.length === 0) throw new RpcError('not_found', 'the account has no such company')
    },
    async remove({ companyId }) {
      await changes.commit(
        [
          sql`UPDATE companies SET removed_at = ${clock.now()}, client_secret = '' WHERE company_id = ${companyId}`,
          sql`DELETE FROM sessions WHERE session_id IN (SELECT session_id FROM company_sessions WHERE company_id = ${companyId})`,
        ],
        [['person', '']],
      )
      await finishRemovals()
    },
    task: { name: 'companies.removed_at', run: finishRemovals },
  }
}

/** What removed companies gave, memberships or roles, ends for one person after the other, each in a transaction; then the company is forgotten. */
function createFinishRemovals({ store, people }: CompaniesParts): () => Promise<void> {
  function endOf({ person_id, account_id, local_role }: Row): Promise<void> {
    const [accountId, personId] = [account_id as string, person_id as string]
    if (local_role === '') return people.remove(accountId, personId)
    return local_role === 'member' ? people.setRole(accountId, personId, 'member') : Promise.resolve()
  }

  return async () => {
    const rows = await store.run({
      sql: `SELECT company_people.* FROM company_people JOIN companies ON companies.company_id = company_people.company_id
        WHERE removed_at IS NOT NULL`,
      values: [],
    })
    for (const row of rows) {
      await endOf(row).catch((cause) => {
        if (!(cause instanceof RpcError) || cause.reason !== 'not_found') throw cause
      })
      await store.run(
        sql`DELETE FROM company_people WHERE company_id = ${row.company_id!} AND person_id = ${row.person_id!}`,
      )
    }
    await store.run({
      sql: `DELETE FROM companies WHERE removed_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM company_people WHERE company_people.company_id = companies.company_id)`,
      values: [],
    })
  }
}

const purposeOf = (companyId: string): string => `client secret ${companyId}`

const insertCompany = (companyId: string, company: NewCompany, secret: string, now: number): Statement =>
  sql`INSERT INTO companies VALUES (${companyId}, ${company.accountId}, ${company.domain}, ${company.issuer}, ${company.clientId},
      ${company.clientAuth}, ${secret}, ${JSON.stringify(company.rules)}, 0, ${company.allowsPrivate ? 1 : 0}, ${now}, NULL)
    ON CONFLICT DO NOTHING RETURNING *`

/** Why a company cannot be as it is stated; undefined if it can. */
function problemWith(company: NewCompany, ownIssuer: string): string | undefined {
  const { domain, issuer, clientId, clientAuth, clientSecret, rules, allowsPrivate } = company
  const ofDomain = domainProblem(domain)
  if (ofDomain !== undefined)
    return `the domain ${JSON.stringify(domain)} cannot be of a company: ${ofDomain}`
  const ofUrl = issuerUrlProblem(issuer)
  if (ofUrl !== undefined) return `the issuer ${JSON.stringify(issuer)} cannot be trusted: ${ofUrl}`
  if (issuer.startsWith('http:') && !allowsPrivate)
    return `the issuer ${JSON.stringify(issuer)} does not begin with https://`
  if ([issuer, clientId].includes(ownIssuer)) return 'the issuer or the client ID is this service itself'
  if (!/^[!-~]+$/.test(clientId)) return 'the client ID has other characters than printable ASCII'
  if ((clientAuth === 'client_secret') !== (clientSecret !== null))
    return 'a client secret belongs to the authentication "client_secret", and to no other'
  return rulesProblem(rules)
}

const toCompany = (row: Row): Company => ({
  companyId: row.company_id as string,
  accountId: row.account_id as string,
  domain: row.domain as string,
  issuer: row.issuer as string,
  clientId: row.client_id as string,
  clientAuth: row.client_auth as CompanyClientAuth,
  rules: JSON.parse(row.rules as string),
  isRequired: row.is_required === 1,
  allowsPrivate: row.allows_private === 1,
  createdAt: isoTime(row.created_at as number),
})
