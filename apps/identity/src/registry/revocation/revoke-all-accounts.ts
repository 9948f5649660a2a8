/** Revokes everything that was issued before a backup was restored: what was revoked after the backup cannot be known. */
import type { DatabaseSync } from 'node:sqlite'
import type { Statement } from '@selvedge/service-kit/store'
import { endings } from './revocations.ts'
import { maxAccessSeconds, revocationStatements } from './rows.ts'

/**
 * @param database that is in no other use, with counters above every number that was given out
 * @param now Unix milliseconds
 * @param maxLifeSeconds seconds for which a token may live
 */
export function revokeAllAccounts(database: DatabaseSync, now: number, maxLifeSeconds: number): void {
  const run = ({ sql, values }: Statement) => database.prepare(sql).run(...values)
  const notBefore = Math.floor(now / 1000) + 1
  const accounts = database.prepare('SELECT account_id FROM accounts').all() as { account_id: string }[]
  for (const { account_id: accountId } of accounts) {
    const row = {
      kind: 'account',
      subject: accountId,
      accountId: '',
      notBefore,
      expiresAt: (notBefore + maxLifeSeconds) * 1000,
      listedUntil: (notBefore + maxAccessSeconds) * 1000,
    } as const
    for (const statement of [...endings.account(accountId, now), ...revocationStatements(row, now)])
      run(statement)
  }
}
