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
 * When the last lease of a developer ID token or sign-in expires: it lives no longer than what it came from. 0 without leases. An
 * expression in Unix milliseconds.
 *
 * @param id expression for the `jti` or `sid`
 */
export function leasesOfUntil(id: string, now: number): string {
  const until = leasesUntil(now)
  const of = (table: string, key: string) =>
    `(SELECT CASE WHEN ${table}.expires_at < ${until} THEN ${table}.expires_at ELSE ${until} END FROM ${table}
      JOIN project_offline ON project_offline.client_id = ${table}.client_id WHERE ${table}.${key} = ${id})`
  return `COALESCE(${of('developer_tokens', 'jti')}, ${of('sign_ins', 'sid')}, 0) + ${skewMs}`
}

/** The larger of two expressions. */
export const larger = (one: string, other: string): string =>
  `CASE WHEN ${other} > ${one} THEN ${other} ELSE ${one} END`
