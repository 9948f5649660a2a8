/**
 * Bounds of the list for runtimes. An account that revokes many tokens one by one is listed as a whole instead: runtimes then
 * refuse all access tokens that it was issued until that moment, which is more than was revoked and never less. New access tokens
 * are valid, and this service still decides by each single revocation.
 */
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import { maxAccessSeconds, nextStep, writeRow } from './rows.ts'

interface ListBounds {
  /** Tokens and sign-ins of one account that the list names. */
  readonly perAccount: number
  /** Entries in all. Beyond it, the accounts with the most entries are named as a whole. */
  readonly inAll: number
}

export interface Folding {
  /**
   * Brings an account back within its bound. A failure is logged: the next revocation tries again.
   *
   * @returns whether it revoked so many one by one that even this service should hold one revocation of all its tokens instead
   */
  check(accountId: string): Promise<boolean>
  /** Ends the single revocations of an account, for a transaction that revokes all its tokens. */
  end(accountId: string): Statement
  /** Brings the whole list back within its bound. */
  checkAll(): Promise<void>
}

/** Single revocations of an account that this service holds, for each one that the list names. */
const heldPerListed = 20

export interface FoldingParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Changes
  readonly log: Log
  readonly bounds: ListBounds
}

export function createFolding({ store, clock, changes, log, bounds }: FoldingParts): Folding {
  async function count(accountId: string): Promise<{ listed: number; held: number }> {
    const [row] = await store.run(
      sql`SELECT SUM(is_listed) AS listed, COUNT(*) AS held FROM revocations
        WHERE account_id = ${accountId} AND kind = 'id' AND expires_at > 0`,
    )
    return { listed: Number(row!.listed), held: Number(row!.held) }
  }

  async function fold(accountId: string): Promise<void> {
    const now = clock.now()
    const notBefore = seconds(clock) + 1
    const until = (notBefore + maxAccessSeconds) * 1000
    const row = { kind: 'folded', subject: accountId, accountId } as const
    const statements = [
      ...nextStep(now),
      sql`UPDATE revocations SET is_listed = 0, seq = (SELECT value FROM counters WHERE name = 'revocations')
        WHERE account_id = ${accountId} AND kind = 'id' AND is_listed = 1`,
      writeRow({ ...row, notBefore, expiresAt: until, listedUntil: until, leasesAt: now }),
    ]
    await changes.commit(statements, [['revocation', `folded:${accountId}`]])
    log.warn('an account revoked so many tokens that the list for runtimes now names the account', {
      accountId,
    })
  }

  return {
    async check(accountId) {
      try {
        const { listed, held } = await count(accountId)
        if (listed > bounds.perAccount) await fold(accountId)
        return held > heldPerListed * bounds.perAccount
      } catch (cause) {
        log.warn('the bound of the list of revoked tokens could not be checked', { accountId, cause })
        return false
      }
    },
    end: (accountId) =>
      sql`UPDATE revocations SET expires_at = 0 WHERE account_id = ${accountId} AND kind = 'id'`,
    async checkAll() {
      const [all] = await store.run(sql`SELECT COUNT(*) AS total FROM revocations WHERE is_listed = 1`)
      const listed = Number(all!.total)
      if (listed <= bounds.inAll) return
      const largest = await store.run(
        sql`SELECT account_id, COUNT(*) AS total FROM revocations
          WHERE kind = 'id' AND is_listed = 1 AND account_id <> '' GROUP BY account_id
          HAVING COUNT(*) > 1 ORDER BY total DESC LIMIT 1000`,
      )
      let excess = listed - bounds.inAll
      for (const { account_id, total } of largest) {
        if (excess <= 0) return
        await fold(account_id as string)
        excess -= Number(total) - 1
      }
      if (excess > 0)
        log.error('the list of revoked tokens is larger than its bound', {
          entries: bounds.inAll + excess,
          bound: bounds.inAll,
        })
    },
  }
}
