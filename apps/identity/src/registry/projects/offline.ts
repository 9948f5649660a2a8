/** The leases that a project allows: for how long, and with which scopes. */
import { type LeaseScope, leaseScopes } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import { allLeasesUntil, leasesUntil } from '../../storage/lease-tables.ts'
import type { SweepTask } from '../../storage/sweep/sweep.ts'
import { ifProjectExists } from './stated.ts'

/** `maxDays` 0, or no scopes: the project has no leases. */
export interface Offline {
  /** Maximum life of a lease in days, from 1 to 400. */
  readonly maxDays: number
  readonly scopes: readonly LeaseScope[]
}

export const noLeases: Offline = { maxDays: 0, scopes: [] }

export const hasLeases = ({ maxDays, scopes }: Offline): boolean => maxDays > 0 && scopes.length > 0

/** For the audit log. */
export const describeOffline = (offline: Offline): string =>
  hasLeases(offline)
    ? `leases of at most ${offline.maxDays} days for ${offline.scopes.join(' ')}`
    : 'no leases'

/** Of a row with the columns of `project_offline`; null in them: the project never had leases. */
export const toOffline = ({ max_days, offline_scopes }: Row): Offline => ({
  maxDays: (max_days as number | null) ?? 0,
  scopes: ((offline_scopes as string | null) ?? '')
    .split(' ')
    .filter((each): each is LeaseScope => leaseScopes.some((known) => known === each)),
})

/** Whether leases of the settings before give more than the settings now allow: then they are revoked. */
export const allowsLess = (before: Offline, now: Offline): boolean =>
  hasLeases(before) &&
  (!hasLeases(now) ||
    now.maxDays < before.maxDays ||
    before.scopes.some((scope) => !now.scopes.includes(scope)))

/** Writes the settings, and for how long leases of the settings before may live. @param now Unix milliseconds */
export function writeOffline(clientId: string, offline: Offline, now: number): Statement {
  const { maxDays, scopes } = hasLeases(offline) ? offline : noLeases
  const insert = ifProjectExists(
    clientId,
    sql`INSERT INTO project_offline SELECT CAST(${clientId} AS TEXT), CAST(${maxDays} AS BIGINT),
      CAST(${scopes.join(' ')} AS TEXT), 0`,
  )
  const update = `ON CONFLICT (client_id) DO UPDATE SET max_days = excluded.max_days, scopes = excluded.scopes,
    leases_until = ${leasesUntil(now)}`
  return { sql: `${insert.sql} ${update}`, values: insert.values }
}

/** The same for a project that is removed. */
export function endOffline(clientId: string, now: number): Statement {
  return {
    sql: `UPDATE project_offline SET leases_until = ${leasesUntil(now)}, max_days = 0 WHERE client_id = ?`,
    values: [clientId],
  }
}

/** Removes the rows of projects without leases, once the last lease of each expired. */
export const offlineExpiry = (store: SqlStore): SweepTask => ({
  name: 'project_offline',
  run: async (until) =>
    void (await store.run(
      sql`DELETE FROM project_offline WHERE max_days = 0 AND leases_until <= ${until - 86_400_000}`,
    )),
})

/**
 * Follows for how long the leases of all projects may live.
 *
 * @returns gives seconds from now; 0 without leases. It throws OAuthError `temporarily_unavailable` while that may be outdated
 */
export async function followLeases(
  store: SqlStore,
  clock: Clock,
  changes: Pick<Changes, 'copy'>,
): Promise<() => number> {
  const longest = await changes.copy<number>({
    topic: 'lease',
    async readAll() {
      const now = clock.now()
      const [row] = await store.run({ sql: `SELECT ${allLeasesUntil(now)} AS until`, values: [] })
      return new Map([['seconds', Math.max(0, Math.ceil((Number(row!.until) - now) / 1000))]])
    },
  })
  return () => longest.get('seconds') ?? 0
}
