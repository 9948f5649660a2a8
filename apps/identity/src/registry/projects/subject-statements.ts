/** Statements about the workloads and people of rules. */
import { randomUUID } from 'node:crypto'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { batch } from '../../storage/sweep/sweep.ts'
import { writeInTurn } from '../../storage/write-in-turn.ts'

/** Workloads and people of one rule. */
export const maxSubjects = 10_000
/** Subjects of a list for people. */
const maxListed = 1000
/**
 * Milliseconds: a workload that was not seen for so long is forgotten; what was issued to one that was not seen for so long has
 * expired, whatever its kind; and a use is written before the answer if the last one that was written is older than this.
 */
export const subjectTimes = { forgetMs: 7 * 86_400_000, liveMs: 2 * 86_400_000, writtenMs: 43_200_000 }

/** Named by its table: sign-ins have generations as well. */
const revokedSidOf = `subject_id || '.' || CAST(federated_subjects.generation - 1 AS TEXT)`

/** Begins the next generation of the subjects of a rule, or of one of them. @param notBefore Unix second */
export const endSubjects = (issuerId: string, subject: string | undefined, notBefore: number): Statement =>
  subject === undefined
    ? sql`UPDATE federated_subjects SET generation = generation + 1, not_before = ${notBefore} WHERE issuer_id = ${issuerId}`
    : sql`UPDATE federated_subjects SET generation = generation + 1, not_before = ${notBefore}
        WHERE issuer_id = ${issuerId} AND subject = ${subject}`

/**
 * The `sid` of each subject that {@link endSubjects} just revoked and with tokens that may not have expired, as the column `id`.
 *
 * @param now Unix milliseconds
 */
export function revokedSids(
  issuerIds: readonly string[],
  subject: string | undefined,
  now: number,
): Statement {
  const isOne = subject === undefined ? '' : 'AND subject = ?'
  return {
    sql: `SELECT ${revokedSidOf} AS id FROM federated_subjects
      WHERE issuer_id IN (${issuerIds.map(() => '?').join(', ')}) ${isOne}
        AND (last_used_at > CAST(? AS BIGINT) OR EXISTS (SELECT 1 FROM sign_ins WHERE origin = ${revokedSidOf}))`,
    values: [...issuerIds, ...(subject === undefined ? [] : [subject]), now - subjectTimes.liveMs],
  }
}

interface NewSubject {
  readonly issuerId: string
  readonly accountId: string
  readonly subject: string
  /** "" for a workload, which is here now; a person who is linked has not been here yet. */
  readonly personId: string
}

/** Writes a subject, if it is new and the rule does not have too many. @param now Unix milliseconds */
export async function insertSubject(
  store: SqlStore,
  { issuerId, accountId, subject, personId }: NewSubject,
  now: number,
): Promise<Row | undefined> {
  const [rows] = await writeInTurn(store, `subjects of ${issuerId}`, [
    sql`INSERT INTO federated_subjects SELECT CAST(${randomUUID()} AS TEXT), CAST(${issuerId} AS TEXT),
        CAST(${accountId} AS TEXT), CAST(${subject} AS TEXT), CAST(${personId} AS TEXT), 0, 0, CAST(${now} AS BIGINT),
        CAST(${personId === '' ? now : 0} AS BIGINT)
      WHERE (SELECT COUNT(*) FROM federated_subjects WHERE issuer_id = ${issuerId}) < ${maxSubjects}
      ON CONFLICT (issuer_id, subject) DO NOTHING RETURNING *`,
  ])
  return rows?.[0]
}

/** The subject of a rule if it is linked to a person who is a member of the account. */
export const personStatement = (issuerId: string, subject: string): Statement =>
  sql`SELECT federated_subjects.*, people.email FROM federated_subjects
    JOIN members ON members.account_id = federated_subjects.account_id AND members.person_id = federated_subjects.person_id
    JOIN people ON people.person_id = federated_subjects.person_id
    WHERE issuer_id = ${issuerId} AND subject = ${subject}`

/** @param clientId undefined: of every project */
export const listStatement = (clientId: string | undefined): Statement =>
  sql`SELECT federated_subjects.*, people.email FROM federated_subjects
    JOIN project_issuers ON project_issuers.issuer_id = federated_subjects.issuer_id
    LEFT JOIN people ON people.person_id = federated_subjects.person_id
    WHERE removed_at IS NULL AND (CAST(${clientId ?? null} AS TEXT) IS NULL OR client_id = ${clientId ?? null})
    ORDER BY last_used_at DESC, subject LIMIT ${maxListed}`

/** Removes at most a batch of workloads. @param until Unix milliseconds */
export const forgetStatement = (until: number): Statement =>
  sql`DELETE FROM federated_subjects WHERE subject_id IN (SELECT subject_id FROM federated_subjects
    WHERE person_id = '' AND last_used_at <= ${until - subjectTimes.forgetMs} LIMIT ${batch}) RETURNING 1 AS one`
