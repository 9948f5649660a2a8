/** The issuers that a project trusts: each row is one rule, by which ID tokens of one issuer are let in. */
import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import {
  conditionProblem,
  issuerUrlProblem,
  type SignatureAlgorithm,
  type TrustCondition,
} from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { endSubjects, revokedSids } from './subject-statements.ts'

/** What comes in by a rule: a workload acts for the account of the project, a person as the one that its `sub` is linked to. */
type ActsAs = 'person' | 'workload'

export interface TrustedIssuer {
  readonly issuerId: string
  readonly clientId: string
  /** URL as the tokens name it, character by character. */
  readonly issuer: string
  /** A token names one of them. */
  readonly audiences: readonly string[]
  /** At least one; a token meets all. */
  readonly conditions: readonly TrustCondition[]
  /** Scopes that it may give, as far as the project has them. */
  readonly scopes: readonly string[]
  readonly as: ActsAs
  readonly algorithms: readonly SignatureAlgorithm[]
  /** Whether the issuer may be on this machine or in a private network. */
  readonly allowsPrivate: boolean
  readonly createdAt: string
  /** Unix second; ID tokens that were issued before are refused. 0: nothing was revoked. */
  readonly notBefore: number
}

type NewTrustedIssuer = Omit<TrustedIssuer, 'issuerId' | 'createdAt' | 'notBefore'>

/** The rules of a project. The object is another one after each change of them. */
export interface ProjectIssuers {
  readonly rules: readonly TrustedIssuer[]
}

export interface TrustedIssuers {
  /** Those of a project, the oldest first; from memory if they were used of late. */
  of(clientId: string): ProjectIssuers | Promise<ProjectIssuers>
  /**
   * @throws RpcError `invalid_params` if the URL or a condition cannot be of a rule, `limit_exceeded`, or `already_exists` for the same
   *   rule
   */
  create(rule: NewTrustedIssuer): Promise<TrustedIssuer>
  /** All rules, or those of a project. */
  list(clientId?: string): Promise<readonly TrustedIssuer[]>
  /**
   * Revokes everything that was issued by some rules until now, in one transaction; ID tokens from before are not let in again.
   *
   * @param how `subject`: only what was issued for it; `remove`: the rules end as well
   */
  end(
    rules: readonly TrustedIssuer[],
    how: { readonly subject?: string; readonly remove?: true },
  ): Promise<void>
}

export interface TrustedIssuersParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'cache' | 'commit'>
  readonly revocations: Pick<Revocations, 'revokeTree'>
  /** URL of this service: it needs no rule for its own tokens. */
  readonly issuer: () => string
  /** Maximum rules of one project. */
  readonly maxIssuers: number
}

export function createTrustedIssuers(parts: TrustedIssuersParts): TrustedIssuers {
  const { store, clock, changes, revocations, maxIssuers } = parts
  const cache = changes.cache<ProjectIssuers>({ topic: 'issuer', limit: 10_000, read })

  async function list(clientId?: string): Promise<readonly TrustedIssuer[]> {
    const rows = await store.run(
      clientId === undefined
        ? sql`SELECT * FROM project_issuers WHERE removed_at IS NULL ORDER BY created_at, issuer_id`
        : sql`SELECT * FROM project_issuers WHERE client_id = ${clientId} AND removed_at IS NULL ORDER BY created_at, issuer_id`,
    )
    return rows.map(toTrustedIssuer)
  }

  async function read(clientId: string): Promise<ProjectIssuers> {
    return { rules: await list(clientId) }
  }

  return {
    list,
    of: (clientId) => cache.get(clientId) ?? (cache.find(clientId) as Promise<ProjectIssuers>),
    async create(rule) {
      const problem = problemWith(rule, parts.issuer())
      if (problem !== undefined) throw new RpcError('invalid_params', problem)
      const same = (await list(rule.clientId)).some((each) => contentOf(each) === contentOf(rule))
      if (same) throw new RpcError('already_exists', 'the project has this rule already')
      const [rows] = await changes.commit(
        [insertRule(rule, clock.now(), maxIssuers)],
        [['issuer', rule.clientId]],
      )
      if (rows![0]) return toTrustedIssuer(rows![0])
      throw new RpcError('limit_exceeded', `the project has ${maxIssuers} trusted issuers already`, {
        hint: 'Remove rules that are not needed any more, or ask the operator to raise limits.issuers.',
      })
    },
    async end(rules, { subject, remove }) {
      const now = clock.now()
      const notBefore = seconds(clock) + 1
      const ids = rules.map(({ issuerId }) => issuerId)
      const ofRules =
        subject === undefined ? ids.map((id) => endRule(id, notBefore, remove ? now : null)) : []
      const statements = [...ofRules, ...ids.map((id) => endSubjects(id, subject, notBefore))]
      const noted = [...new Set(rules.map(({ clientId }) => clientId))].map((id) => ['issuer', id] as const)
      await revocations.revokeTree(revokedSids(ids, subject, now), { statements, noted })
    },
  }
}

/** Why a rule cannot be as it is stated; undefined if it can. */
function problemWith(rule: NewTrustedIssuer, ownIssuer: string): string | undefined {
  const { issuer, conditions, scopes, as, allowsPrivate } = rule
  const ofUrl = issuerUrlProblem(issuer)
  if (ofUrl !== undefined) return `the issuer ${JSON.stringify(issuer)} cannot be trusted: ${ofUrl}`
  if (issuer.startsWith('http:') && !allowsPrivate)
    return `the issuer ${JSON.stringify(issuer)} does not begin with https://`
  if (issuer === ownIssuer) return 'the issuer is this service itself; its own tokens need no rule'
  const ofCondition = conditions.map(conditionProblem).find((each) => each !== undefined)
  if (ofCondition !== undefined) return ofCondition
  if (as === 'workload' && scopes.includes('offline_access'))
    return 'a workload gets no refresh token (offline_access): its issuer gives it a new ID token'
  return undefined
}

const endRule = (issuerId: string, notBefore: number, removedAt: number | null): Statement =>
  sql`UPDATE project_issuers SET not_before = ${notBefore}, removed_at = COALESCE(removed_at, CAST(${removedAt} AS BIGINT))
    WHERE issuer_id = ${issuerId}`

function insertRule(rule: NewTrustedIssuer, now: number, maxIssuers: number): Statement {
  const { clientId, issuer, audiences, conditions, scopes, as, algorithms, allowsPrivate } = rule
  return sql`INSERT INTO project_issuers SELECT CAST(${randomUUID()} AS TEXT), CAST(${clientId} AS TEXT),
      CAST(${issuer} AS TEXT), CAST(${JSON.stringify(audiences)} AS TEXT), CAST(${JSON.stringify(conditions)} AS TEXT),
      CAST(${scopes.join(' ')} AS TEXT), CAST(${as} AS TEXT), CAST(${algorithms.join(' ')} AS TEXT),
      CAST(${allowsPrivate ? 1 : 0} AS INTEGER), CAST(${now} AS BIGINT), 0, NULL
    WHERE (SELECT COUNT(*) FROM project_issuers WHERE client_id = ${clientId} AND removed_at IS NULL) < ${maxIssuers}
    RETURNING *`
}

/** Whatever makes a rule another one. */
const contentOf = ({
  issuer,
  audiences,
  conditions,
  scopes,
  as,
  algorithms,
  allowsPrivate,
}: NewTrustedIssuer) =>
  JSON.stringify([
    issuer,
    audiences.toSorted(),
    conditions.map(({ claim, value }) => `${claim}=${value}`).toSorted(),
    scopes.toSorted(),
    as,
    algorithms.toSorted(),
    allowsPrivate,
  ])

const wordsOf = (text: unknown): string[] => (text as string).split(' ').filter(Boolean)

const toTrustedIssuer = (row: Row): TrustedIssuer => ({
  issuerId: row.issuer_id as string,
  clientId: row.client_id as string,
  issuer: row.issuer as string,
  audiences: JSON.parse(row.audiences as string),
  conditions: JSON.parse(row.conditions as string),
  scopes: wordsOf(row.scopes),
  as: row.acts_as as ActsAs,
  algorithms: wordsOf(row.algorithms) as SignatureAlgorithm[],
  allowsPrivate: row.allows_private === 1,
  createdAt: isoTime(row.created_at as number),
  notBefore: row.not_before as number,
})
