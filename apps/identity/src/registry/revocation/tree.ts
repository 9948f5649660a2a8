import type { Statement } from '@selvedge/service-kit/store'
import { larger, leasesOfUntil } from '../../storage/lease-tables.ts'
import { maxAccessSeconds, nextStep } from './rows.ts'

/**
 * Marks and lists developer ID tokens and sign-ins, and every sign-in that came from them, as statements of one transaction. The
 * last of them gives one row with the `account_id` of each that was not revoked yet.
 *
 * @param roots gives one column, `id`: the `jti` or `sid` of each root, also that of a federated subject, or the ID of a share or of a
 *   membership of a group; runs several times
 * @param now Unix milliseconds
 */
export function treeStatements(roots: Statement, now: number): Statement[] {
  const tree = `WITH RECURSIVE roots (id) AS (${roots.sql}),
    tree (id) AS (SELECT id FROM roots UNION SELECT sign_ins.sid FROM sign_ins JOIN tree ON sign_ins.origin = tree.id) `
  const of = (text: string, ...values: number[]): Statement => ({
    sql: tree + text,
    values: [...roots.values, ...values],
  })
  const mark = 'SET revoked_at = COALESCE(revoked_at, CAST(? AS BIGINT))'
  // Runtimes have to know it as long as they may meet an access token or a lease from it.
  const until = larger(String(now + (maxAccessSeconds + 60) * 1000), leasesOfUntil('tree.id', now))
  return [
    of(`UPDATE developer_tokens ${mark} WHERE jti IN (SELECT id FROM tree)`, now),
    of(`UPDATE sign_ins ${mark} WHERE sid IN (SELECT id FROM tree)`, now),
    ...nextStep(now),
    of(
      `INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until, epoch)
        SELECT 'id', tree.id, CAST(? AS BIGINT),
          CAST(? AS BIGINT) + COALESCE((SELECT expires_at FROM developer_tokens WHERE jti = tree.id), CAST(? AS BIGINT)),
          COALESCE((SELECT account_id FROM developer_tokens WHERE jti = tree.id),
            (SELECT account_id FROM sign_ins WHERE sid = tree.id),
            (SELECT account_id FROM federated_subjects WHERE subject_id = SUBSTR(tree.id, 1, 36)),
            (SELECT account_id FROM service_shares WHERE share_id = tree.id),
            (SELECT person_groups.account_id FROM group_members JOIN person_groups
              ON person_groups.group_id = group_members.group_id WHERE member_id = tree.id), ''),
          (SELECT value FROM counters WHERE name = 'revocations'), 1, CAST(${until} AS BIGINT), counters.value
        FROM tree, counters WHERE counters.name = 'changes'
        ON CONFLICT (kind, subject) DO NOTHING RETURNING account_id`,
      Math.floor(now / 1000),
      (maxAccessSeconds + 60) * 1000,
      now,
    ),
  ]
}
