/**
 * The audit log: who did what, from where, and with which outcome. Rows are added and never changed, and removed by age and number.
 * They contain no secrets.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { batch, inBatches, type SweepTask } from '../sweep/sweep.ts'

export interface AuditEntry {
  /** Account of the log; "" for an entry that only the operator sees. */
  readonly accountId: string
  /** Who: an e-mail address, a client ID, a node ID, or "operator". */
  readonly actor: string
  /** What, as `<noun>.<verb>`: `developer_token.create`. */
  readonly action: string
  /** To what: an identifier, or "". */
  readonly subject?: string
  /** From where: an IP address, or "" for the operator's socket. */
  readonly address: string
  readonly outcome: 'ok' | 'refused'
  /** More, in words. */
  readonly detail?: string
}

interface AuditRecord extends Required<AuditEntry> {
  readonly id: string
  readonly at: string
}

/** Which rows of a log. What is left out selects all. */
interface AuditFilter {
  /** Beginning of an action, such as `device.`, or all of it. */
  readonly action?: string | undefined
  /** Part of the actor, the subject or the detail. */
  readonly search?: string | undefined
  readonly subject?: string | undefined
  readonly outcome?: AuditEntry['outcome'] | undefined
}

export interface Audit {
  record(entry: AuditEntry): Promise<void>
  /** The same as a statement, for the transaction that does what it records. @param only condition under which it is written */
  statement(entry: AuditEntry, only: Statement): Statement
  /** Newest first. @param before id of the last one seen */
  list(accountId: string, limit: number, before?: string, filter?: AuditFilter): Promise<AuditRecord[]>
  /** Removes rows that are too old or too many. */
  readonly tasks: readonly SweepTask[]
}

export interface AuditBounds {
  /** Milliseconds for which a row is stored. */
  readonly keepMs: number
  /**
   * Maximum rows of one account, for each outcome. Refused requests have their own limit, so a flood of them removes no record
   * of a change that was made.
   */
  readonly perAccount: number
}

export function createAudit(store: SqlStore, clock: Clock, { keepMs, perAccount }: AuditBounds): Audit {
  /** Accounts and outcomes with new rows since the last sweep. */
  let touched = new Map<string, readonly [accountId: string, outcome: string]>()
  const nextId = createIds()

  async function removeOld(until: number): Promise<void> {
    const first = timePrefix(Math.max(0, until - keepMs))
    await inBatches(
      store,
      () => sql`DELETE FROM audit WHERE audit_id IN
        (SELECT audit_id FROM audit WHERE audit_id < ${first} LIMIT ${batch}) RETURNING 1 AS one`,
    )
  }

  async function removeExcess(): Promise<void> {
    const due = touched.values()
    touched = new Map()
    for (const [accountId, outcome] of due)
      await inBatches(
        store,
        () => sql`DELETE FROM audit WHERE audit_id IN
          (SELECT audit_id FROM audit WHERE account_id = ${accountId} AND outcome = ${outcome}
            ORDER BY audit_id DESC LIMIT ${batch} OFFSET ${perAccount}) RETURNING 1 AS one`,
      )
  }

  function write(entry: AuditEntry, only: Statement): Statement {
    const { accountId, actor, action, subject = '', address, outcome, detail = '' } = entry
    const now = clock.now()
    const id = nextId(now)
    touched.set(`${outcome} ${accountId}`, [accountId, outcome])
    const row = sql`INSERT INTO audit SELECT CAST(${id} AS TEXT), CAST(${now} AS BIGINT), CAST(${accountId} AS TEXT),
      CAST(${actor} AS TEXT), CAST(${action} AS TEXT), CAST(${subject} AS TEXT), CAST(${address} AS TEXT),
      CAST(${outcome} AS TEXT), CAST(${detail} AS TEXT)`
    return { sql: `${row.sql} WHERE ${only.sql}`, values: [...row.values, ...only.values] }
  }

  return {
    tasks: [
      { name: 'audit by age', run: removeOld },
      { name: 'audit by number', run: removeExcess },
    ],
    record: async (entry) => void (await store.run(write(entry, sql`1 = 1`))),
    statement: write,
    async list(accountId, limit, before = '~', filter = {}) {
      const rows = await store.run(selected(accountId, limit, before, filter))
      return rows.map(toRecord)
    },
  }
}

const escaped = (text: string): string => text.toLowerCase().replace(/[!%_]/g, (special) => `!${special}`)

function selected(accountId: string, limit: number, before: string, filter: AuditFilter): Statement {
  const { action, search, subject, outcome } = filter
  const like = search === undefined ? '' : `%${escaped(search)}%`
  const parts = [
    sql`SELECT * FROM audit WHERE account_id = ${accountId} AND audit_id < ${before}`,
    ...(subject === undefined ? [] : [sql`AND subject = ${subject}`]),
    ...(outcome === undefined ? [] : [sql`AND outcome = ${outcome}`]),
    ...(action === undefined ? [] : [sql`AND action LIKE ${`${escaped(action)}%`} ESCAPE '!'`]),
    ...(like === ''
      ? []
      : [
          sql`AND (LOWER(actor) LIKE ${like} ESCAPE '!' OR LOWER(subject) LIKE ${like} ESCAPE '!'
            OR LOWER(detail) LIKE ${like} ESCAPE '!')`,
        ]),
    sql`ORDER BY audit_id DESC LIMIT ${limit}`,
  ]
  return { sql: parts.map((each) => each.sql).join(' '), values: parts.flatMap((each) => each.values) }
}

/** Identifiers in the order of the events: the time comes first, then a number for those of one millisecond, then random digits. */
function createIds(): (now: number) => string {
  let lastAt = 0
  let number = 0
  return (now) => {
    number = now === lastAt ? number + 1 : 0
    lastAt = now
    return timePrefix(now) + number.toString(36).padStart(4, '0') + randomBytes(6).toString('hex')
  }
}

const timePrefix = (time: number): string => time.toString(36).padStart(9, '0')

const toRecord = (row: Row): AuditRecord => ({
  id: row.audit_id as string,
  at: isoTime(row.at as number),
  accountId: row.account_id as string,
  actor: row.actor as string,
  action: row.action as string,
  subject: row.subject as string,
  address: row.address as string,
  outcome: row.outcome as 'ok' | 'refused',
  detail: row.detail as string,
})
