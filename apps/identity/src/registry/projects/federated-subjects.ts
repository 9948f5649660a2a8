/** The workloads and people that a rule of a project let in, by the `sub` of their tokens. Never by an e-mail address. */
import { OAuthError, RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'
import { inBatches, type SweepTask } from '../../storage/sweep/sweep.ts'
import { createUseNotes } from '../use-notes.ts'
import type { ProjectIssuers, TrustedIssuer } from './issuers.ts'
import {
  forgetStatement,
  insertSubject,
  listStatement,
  maxSubjects,
  personStatement,
  subjectTimes,
} from './subject-statements.ts'

/** A workload or a person with an accepted token. */
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
  linkPerson(rule: TrustedIssuer, accountId: string, subject: string, personId: string): Promise<void>
  /** Ends a link; what it led to is revoked before, by `TrustedIssuers.end`. @throws RpcError `not_found` */
  unlinkPerson(rule: TrustedIssuer, subject: string): Promise<void>
  /** Notes that a token was issued; written down a moment later with others. */
  noteUse(subjectId: string): void
  /** Those of all rules, or of those of a project; the last used first, at most 1000. */
  list(clientId?: string): Promise<readonly ListedSubject[]>
  /** Removes workloads that did not come for a week. */
  readonly task: SweepTask
}

interface Remembered {
  readonly of: ProjectIssuers
  readonly found: FederatedSubject
  /** Unix milliseconds of the use that was written before it was cached. */
  readonly writtenAt: number
}

export function createFederatedSubjects(parts: {
  readonly store: SqlStore
  readonly clock: Clock
  readonly log: Log
}): FederatedSubjects {
  const { store, clock } = parts
  const noteUse = createUseNotes(
    parts,
    'federated subjects',
    (id, at) => sql`UPDATE federated_subjects SET last_used_at = ${at} WHERE subject_id = ${id}`,
  )

  const touch = createTouch(store, clock)
  const workload = createWorkloads(store, clock, touch)

  return {
    noteUse,
    workload,
    async person({ issuerId }, subject) {
      const [row] = await store.run(personStatement(issuerId, subject))
      if (row && Math.abs(clock.now() - (row.last_used_at as number)) > subjectTimes.writtenMs)
        await touch(issuerId, subject)
      return row && toSubject(row)
    },
    async linkPerson({ issuerId }, accountId, subject, personId) {
      const inserted = await insertSubject(store, { issuerId, accountId, subject, personId }, clock.now())
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
    async unlinkPerson({ issuerId }, subject) {
      const [row] = await store.run(
        sql`UPDATE federated_subjects SET person_id = '' WHERE issuer_id = ${issuerId} AND subject = ${subject}
          AND person_id <> '' RETURNING subject_id`,
      )
      if (!row) throw new RpcError('not_found', 'the subject is linked to no person by this rule')
    },
    async list(clientId) {
      const rows = await store.run(listStatement(clientId))
      return rows.map((row) => ({
        issuerId: row.issuer_id as string,
        subject: row.subject as string,
        email: (row.email as string | null) ?? null,
        lastUsedAt: row.last_used_at === 0 ? null : isoTime(row.last_used_at as number),
      }))
    },
    task: {
      name: 'federated_subjects.last_used_at',
      run: (until) => inBatches(store, () => forgetStatement(until)),
    },
  }
}

type Touch = (issuerId: string, subject: string) => Promise<Row | undefined>

/** Writes that a subject is here: what it is issued can be revoked from then on. */
const createTouch =
  (store: SqlStore, clock: Clock) =>
  async (issuerId: string, subject: string): Promise<Row | undefined> => {
    const rows = await store.run(
      sql`UPDATE federated_subjects SET last_used_at = ${clock.now()}
      WHERE issuer_id = ${issuerId} AND subject = ${subject} RETURNING *`,
    )
    return rows[0]
  }

function createWorkloads(store: SqlStore, clock: Clock, touch: Touch): FederatedSubjects['workload'] {
  const recent = new RecentMap<string, Remembered>(20_000)
  return async (of, { issuerId }, accountId, subject) => {
    const key = `${issuerId} ${subject}`
    const now = clock.now()
    const known = recent.get(key)
    if (known?.of === of && Math.abs(now - known.writtenAt) < subjectTimes.writtenMs) return known.found
    const made = () => insertSubject(store, { issuerId, accountId, subject, personId: '' }, now)
    const row = (await touch(issuerId, subject)) ?? (await made()) ?? (await touch(issuerId, subject))
    if (!row) {
      const why = `the rule has ${maxSubjects} workloads; one that does not come for a week is forgotten`
      throw new OAuthError('temporarily_unavailable', why, { retryAfter: 3600 })
    }
    const found = toSubject(row)
    recent.set(key, { of, found, writtenAt: now })
    return found
  }
}

const toSubject = (row: Row): FederatedSubject => ({
  subjectId: row.subject_id as string,
  sid: `${row.subject_id}.${row.generation}`,
  notBefore: row.not_before as number,
  personId: row.person_id as string,
  email: (row.email as string | null | undefined) ?? '',
})
