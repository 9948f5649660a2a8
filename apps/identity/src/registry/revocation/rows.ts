/**
 * How a revocation is written: a row, and the step by which the list for runtimes gets its next number. The row has the number
 * of the last step that changed its entry in the list. A row that is no longer listed stays until no runtime has a state from before.
 */
import { randomBytes } from 'node:crypto'
import { type Statement, sql } from '@selvedge/service-kit/store'
import type { RevocationKind } from '@selvedge/service-kit/tokens'
import { allLeasesUntil, larger } from '../../storage/lease-tables.ts'

/**
 * `folded`: access tokens of an account that revoked so many one by one that the list names the account in their place; this
 * service does not go by it.
 */
export type RowKind = RevocationKind | 'folded'

export interface RevocationRow {
  readonly kind: RowKind
  readonly subject: string
  /** Unix second before which tokens of the subject must not have been issued. Of an `id`: when it was revoked. */
  readonly notBefore: number
  /** Unix milliseconds at which the last token that it is about expires. */
  readonly expiresAt: number
  /** Account of an `id` or `folded`; "" for others, and if it has no account. */
  readonly accountId: string
  /** Unix milliseconds until which runtimes need to know; 0: no runtime checks these tokens. */
  readonly listedUntil: number
  /** Unix milliseconds of now, if it is about leases, too: then it is listed until the last of them expires. */
  readonly leasesAt?: number
}

/** Longest life of an access token, and what clocks may differ by, in seconds: for so long a runtime may meet an old one. */
export const maxAccessSeconds = 86_400 + 120

/** Begins the next state of the list. The counter's row is locked until the end of the transaction: numbers appear in order. */
export const nextStep = (now: number): Statement[] => [
  sql`UPDATE counters SET value = value + 1 WHERE name = 'revocations'`,
  sql`INSERT INTO revocation_steps SELECT value, CAST(${newMark()} AS TEXT), CAST(${now} AS BIGINT)
    FROM counters WHERE name = 'revocations'`,
]

/**
 * Writes a row under the number of the current step, with that of the change that is being committed as its epoch. One of the
 * same subject is replaced.
 */
export function writeRow({
  kind,
  subject,
  notBefore,
  expiresAt,
  accountId,
  listedUntil,
  leasesAt,
}: RevocationRow): Statement {
  const isListed = listedUntil > 0 ? 1 : 0
  const row = sql`INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until, epoch)
    SELECT CAST(${kind} AS TEXT), CAST(${subject} AS TEXT), CAST(${notBefore} AS BIGINT), CAST(${expiresAt} AS BIGINT),
      CAST(${accountId} AS TEXT), CASE WHEN CAST(${isListed} AS INTEGER) = 1 THEN value ELSE 0 END,
      CAST(${isListed} AS INTEGER), listedUntil, (SELECT value FROM counters WHERE name = 'changes')
    FROM counters WHERE name = 'revocations'
    ON CONFLICT (kind, subject) DO UPDATE SET not_before = excluded.not_before, expires_at = excluded.expires_at,
      account_id = excluded.account_id, seq = excluded.seq, is_listed = excluded.is_listed,
      listed_until = excluded.listed_until, epoch = excluded.epoch`
  const until = String(Math.floor(listedUntil))
  return {
    ...row,
    sql: row.sql.replace(
      'listedUntil',
      `CAST(${leasesAt === undefined ? until : larger(until, allLeasesUntil(leasesAt))} AS BIGINT)`,
    ),
  }
}

/** All statements of a new revocation. @param now Unix milliseconds */
export const revocationStatements = (row: RevocationRow, now: number): Statement[] => [
  ...(row.listedUntil > 0 ? nextStep(now) : []),
  writeRow(row),
]

export const newMark = (): string => randomBytes(9).toString('base64url')
