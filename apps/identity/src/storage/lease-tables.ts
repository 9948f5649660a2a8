/** Tables about leases that the version before does not know, and how long leases may live by them. */
import type { AddedTable } from '@selvedge/service-kit/store'

const offline = `CREATE TABLE project_offline (
  client_id TEXT PRIMARY KEY, max_days BIGINT NOT NULL, scopes TEXT NOT NULL, leases_until BIGINT NOT NULL
)`

/**
 * Projects with leases. `max_days` 0: the project has no leases any more. `leases_until`: Unix milliseconds at which the last lease of
 * earlier settings expires. A row outlives its project until then.
 */
export const projectOffline: AddedTable = { table: 'project_offline', sqlite: offline, postgres: offline }

/** Milliseconds by which the clocks of devices and replicas may differ. */
const skewMs = 60_000

/** When the last lease of a row of `project_offline` expires, as an expression. @param now Unix milliseconds */
export function leasesUntil(now: number): string {
  const present = `${Math.floor(now)} + project_offline.max_days * 86400000`
  return `CASE WHEN project_offline.max_days > 0 AND ${present} > project_offline.leases_until
    THEN ${present} ELSE project_offline.leases_until END`
}

/** When the last lease of any project expires; 0 without leases. An expression in Unix milliseconds. */
export const allLeasesUntil = (now: number): string =>
  `COALESCE((SELECT MAX(${leasesUntil(now)}) FROM project_offline), 0) + ${skewMs}`

/**
 * When the last lease of a developer ID token or sign-in expires: it lives no longer than what it came from. The same of a share or of
 * a membership of a group, which any lease may carry. 0 without leases. An expression in Unix milliseconds.
 *
 * @param id expression for the `jti`, the `sid`, or the ID of a share or a membership
 */
export function leasesOfUntil(id: string, now: number): string {
  const until = leasesUntil(now)
  const of = (table: string, key: string) =>
    `(SELECT CASE WHEN ${table}.expires_at < ${until} THEN ${table}.expires_at ELSE ${until} END FROM ${table}
      JOIN project_offline ON project_offline.client_id = ${table}.client_id WHERE ${table}.${key} = ${id})`
  // The lease of any person may carry a share, or what a group gives.
  const ofShares = `CASE WHEN EXISTS (SELECT 1 FROM service_shares WHERE share_id = ${id})
    OR EXISTS (SELECT 1 FROM group_members WHERE member_id = ${id}) THEN ${allLeasesUntil(now)} ELSE 0 END`
  return `COALESCE(${of('developer_tokens', 'jti')}, ${of('sign_ins', 'sid')}, ${ofShares}) + ${skewMs}`
}

/** The larger of two expressions. */
export const larger = (one: string, other: string): string =>
  `CASE WHEN ${other} > ${one} THEN ${other} ELSE ${one} END`
