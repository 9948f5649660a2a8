/** The workloads and people that came in by a rule of a project, by the `sub` of their tokens. Never by an e-mail address. */
import { randomUUID } from 'node:crypto'
import { OAuthError, RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'
import { batch, inBatches, type SweepTask } from '../../storage/sweep/sweep.ts'
import { createUseNotes } from '../use-notes.ts'
import type { ProjectIssuers, TrustedIssuer } from './issuers.ts'

/** A workload or a person whose token was let in. */
export interface FederatedSubject {
  readonly subjectId: string
  /** With which everything that is issued for it is revoked. */
  readonly sid: string
  /** Unix second; ID tokens that were issued before are refused. */
  readonly notBefore: number
  /** Who it is linked to; "" for a workload. */
  readonly personId: string
  readonly email: string
}

interface ListedSubject {
  readonly issuerId: string
  readonly subject: string
  readonly email: string | null
  readonly lastUsedAt: string | null
}

export interface FederatedSubjects {
  /**
   * The workload of a rule with this `sub`. A new one is written.
   *
   * @param of the rules of the project as they are now: what is in memory belongs to them
   * @throws OAuthError `temporarily_unavailable` if the rule has too many
   */
  workload(
    of: ProjectIssuers,
    rule: TrustedIssuer,
    accountId: string,
    subject: string,
  ): Promise<FederatedSubject>
  /** The person that is linked to this `sub`, and a member of the account; undefined without one. */
  person(rule: TrustedIssuer, subject: string): Promise<FederatedSubject | undefined>
  /** Links a `sub` of a rule to a person. @throws RpcError `already_exists` if it is linked, `limit_exceeded` */
  link(rule: TrustedIssuer, accountId: string, subject: string, personId: string): Promise<void>
  /** Ends a link; what it led to is revoked before, by `TrustedIssuers.end`. @throws RpcError `not_found` */
  unlink(rule: TrustedIssuer, subject: string): Promise<void>
  /** Notes that a token was issued; written down a moment later with others. */
  noteUse(subjectId: string): void
  /** Those of all rules, or of those of a project; the last used first, at most 1000. */
  list(clientId?: string): Promise<readonly ListedSubject[]>
  /** Removes workloads that did not come for a week. */
  readonly task: SweepTask
}

/** Workloads and people of one rule. */
const maxSubjects = 10_000
/** Subjects of a list for people. */
const maxListed = 1000
/**
 * Milliseconds: a workload that was not seen for so long is forgotten; what was issued to one that was not seen for so long has
 * expired, whatever its kind; and a use is written before the answer if the last one that was written is older than this.
 */
const times = { forgetMs: 7 * 86_400_000, liveMs: 2 * 86_400_000, writtenMs: 43_200_000 }

/** Named by its table: sign-ins have generations as well. */
const endedSidOf = `subject_id || '.' || CAST(federated_subjects.generation - 1 AS TEXT)`

/** Begins the next generation of the subjects of a rule, or of one of them. @param notBefore Unix second */
export const endSubjects = (issuerId: string, subject: string | undefined, notBefore: number): Statement =>
  subject === undefined
    ? sql`UPDATE federated_subjects SET generation = generation + 1, not_before = ${notBefore} WHERE issuer_id = ${issuerId}`
    : sql`UPDATE federated_subjects SET generation = generation + 1, not_before = ${notBefore}
        WHERE issuer_id = ${issuerId} AND subject = ${subject}`

/**
 * The `sid` of each subject that {@link endSubjects} just ended and whose tokens may not have expired, as the column `id`.
 *
 * @param now Unix milliseconds
 */
export function endedSids(issuerIds: readonly string[], subject: string | undefined, now: number): Statement {
  const isOne = subject === undefined ? '' : 'AND subject = ?'
  return {
    sql: `SELECT ${endedSidOf} AS id FROM federated_subjects
      WHERE issuer_id IN (${issuerIds.map(() => '?').join(', ')}) ${isOne}
        AND (last_used_at > CAST(? AS BIGINT) OR EXISTS (SELECT 1 FROM sign_ins WHERE origin = ${endedSidOf}))`,
    values: [...issuerIds, ...(subject === undefined ? [] : [subject]), now - times.liveMs],
  }
}

interface Remembered {
  readonly of: ProjectIssuers
  readonly found: FederatedSubject
  /** Unix milliseconds of the use that was written before it was remembered. */
  readonly writtenAt: number
}

export function createFederatedSubjects(parts: {
  readonly store: SqlStore
  readonly clock: Clock
  readonly log: Log
}): FederatedSubjects {
  const { store, clock } = parts
  const recent = new RecentMap<string, Remembered>(20_000)
  const noteUse = createUseNotes(
    parts,
    'federated subjects',
    (id, at) => sql`UPDATE federated_subjects SET last_used_at = ${at} WHERE subject_id = ${id}`,
  )

  /** Writes that a subject is here: what it is issued can be revoked from then on. */
  async function touch(issuerId: string, subject: string): Promise<Row | undefined> {
    const rows = await store.run(
      sql`UPDATE federated_subjects SET last_used_at = ${clock.now()}
        WHERE issuer_id = ${issuerId} AND subject = ${subject} RETURNING *`,
    )
    return rows[0]
  }

  return {
    noteUse,
    async workload(of, { issuerId }, accountId, subject) {
      const key = `${issuerId} ${subject}`
      const now = clock.now()
      const known = recent.get(key)
      if (known?.of === of && Math.abs(now - known.writtenAt) < times.writtenMs) return known.found
      const made = insertSubject({ issuerId, accountId, subject, personId: '' }, now)
      const row =
        (await touch(issuerId, subject)) ?? (await store.run(made))[0] ?? (await touch(issuerId, subject))
      if (!row) {
        const why = `the rule has ${maxSubjects} workloads; one that does not come for a week is forgotten`
        throw new OAuthError('temporarily_unavailable', why, { retryAfter: 3600 })
      }
      const found = toSubject(row)
      recent.set(key, { of, found, writtenAt: now })
      return found
    },
    async person({ issuerId }, subject) {
      const rows = await store.run(
        sql`SELECT federated_subjects.*, people.email FROM federated_subjects
          JOIN members ON members.account_id = federated_subjects.account_id AND members.person_id = federated_subjects.person_id
          JOIN people ON people.person_id = federated_subjects.person_id
          WHERE issuer_id = ${issuerId} AND subject = ${subject}`,
      )
      const [row] = rows
      if (row && Math.abs(clock.now() - (row.last_used_at as number)) > times.writtenMs)
        await touch(issuerId, subject)
      return row && toSubject(row)
    },
    async link({ issuerId }, accountId, subject, personId) {
      const [inserted] = await store.run(
        insertSubject({ issuerId, accountId, subject, personId }, clock.now()),
      )
      const [taken] = inserted
        ? [inserted]
        : await store.run(
            sql`UPDATE federated_subjects SET person_id = ${personId}, generation = generation + 1
              WHERE issuer_id = ${issuerId} AND subject = ${subject} AND person_id IN ('', ${personId}) RETURNING *`,
          )
      if (taken) return
      const [found] = await store.run(
        sql`SELECT 1 AS found FROM federated_subjects WHERE issuer_id = ${issuerId} AND subject = ${subject}`,
      )
      if (found)
        throw new RpcError('already_exists', 'the subject is linked to another person', {
          hint: 'Unlink it first.',
        })
      throw new RpcError('limit_exceeded', `the rule has ${maxSubjects} subjects already`)
    },
    async unlink({ issuerId }, subject) {
      const [row] = await store.run(
        sql`UPDATE federated_subjects SET person_id = '' WHERE issuer_id = ${issuerId} AND subject = ${subject}
          AND person_id <> '' RETURNING subject_id`,
      )
      if (!row) throw new RpcError('not_found', 'the subject is linked to no person by this rule')
    },
    async list(clientId) {
      const rows = await store.run(
        sql`SELECT federated_subjects.*, people.email FROM federated_subjects
          JOIN project_issuers ON project_issuers.issuer_id = federated_subjects.issuer_id
          LEFT JOIN people ON people.person_id = federated_subjects.person_id
          WHERE removed_at IS NULL AND (CAST(${clientId ?? null} AS TEXT) IS NULL OR client_id = ${clientId ?? null})
          ORDER BY last_used_at DESC, subject LIMIT ${maxListed}`,
      )
      return rows.map((row) => ({
        issuerId: row.issuer_id as string,
        subject: row.subject as string,
        email: (row.email as string | null) ?? null,
        lastUsedAt: row.last_used_at === 0 ? null : isoTime(row.last_used_at as number),
      }))
    },
    task: {
      name: 'federated_subjects.last_used_at',
      run: (until) =>
        inBatches(
          store,
          () => sql`DELETE FROM federated_subjects WHERE subject_id IN (SELECT subject_id FROM federated_subjects
            WHERE person_id = '' AND last_used_at <= ${until - times.forgetMs} LIMIT ${batch}) RETURNING 1 AS one`,
        ),
    },
  }
}

/** A person who is linked has not been here yet; a workload is. */
function insertSubject(
  {
    issuerId,
    accountId,
    subject,
    personId,
  }: Record<'issuerId' | 'accountId' | 'subject' | 'personId', string>,
  now: number,
): Statement {
  return sql`INSERT INTO federated_subjects SELECT CAST(${randomUUID()} AS TEXT), CAST(${issuerId} AS TEXT),
      CAST(${accountId} AS TEXT), CAST(${subject} AS TEXT), CAST(${personId} AS TEXT), 0, 0, CAST(${now} AS BIGINT),
      CAST(${personId === '' ? now : 0} AS BIGINT)
    WHERE (SELECT COUNT(*) FROM federated_subjects WHERE issuer_id = ${issuerId}) < ${maxSubjects}
    ON CONFLICT (issuer_id, subject) DO NOTHING RETURNING *`
}

const toSubject = (row: Row): FederatedSubject => ({
  subjectId: row.subject_id as string,
  sid: `${row.subject_id}.${row.generation}`,
  notBefore: row.not_before as number,
  personId: row.person_id as string,
  email: (row.email as string | null | undefined) ?? '',
})
