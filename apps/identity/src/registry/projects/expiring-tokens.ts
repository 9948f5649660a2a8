/** Developer ID tokens of a person that programs use and that expire soon, without another one for the same project. */
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import type { DeveloperSubject } from './developer-tokens.ts'

export interface ExpiringTokens {
  readonly count: number
  /** When the first of them expires; null without any. */
  readonly firstAt: string | null
}

/** Milliseconds before the end in which a token expires soon; one that is younger than this was made to end. */
const soonMs = 7 * 86_400_000

export const createExpiringTokens =
  (store: SqlStore, clock: Clock) =>
  async ({
    accountId,
    personId,
  }: Pick<DeveloperSubject, 'accountId' | 'personId'>): Promise<ExpiringTokens> => {
    const now = clock.now()
    const [row] = await store.run(
      sql`SELECT COUNT(*) AS count, MIN(expires_at) AS first FROM developer_tokens AS old
        WHERE account_id = ${accountId} AND person_id = ${personId} AND revoked_at IS NULL AND last_used_at IS NOT NULL
          AND expires_at > ${now} AND expires_at <= ${now + soonMs} AND issued_at <= ${now - soonMs}
          AND NOT EXISTS (SELECT 1 FROM developer_tokens AS other WHERE other.account_id = ${accountId}
            AND other.person_id = ${personId} AND other.client_id = old.client_id AND other.revoked_at IS NULL
            AND other.expires_at > ${now + soonMs})`,
    )
    const first = row?.first as number | null | undefined
    return { count: Number(row?.count ?? 0), firstAt: first == null ? null : isoTime(Number(first)) }
  }
