/** What devices state about themselves for their owner, as they stated it last. Only the account that has the device sees it. */
import { type DeviceVitals, readVitals } from '@selvedge/protocol/tokens'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

interface StatedVitals {
  readonly vitals: DeviceVitals
  /** Unix milliseconds. */
  readonly statedAt: number
}

export interface DeviceVitalsStore {
  /** Undefined if the device has not stated any since it belongs to the account. */
  find(accountId: string, nodeId: string): Promise<StatedVitals | undefined>
}

/**
 * Replaces the vitals of a device with those of its account. Runs after the device was written: what it stated while it belonged to
 * no account, or to another one, is not stored.
 *
 * @param vitals null: the device withdraws them
 * @param now Unix milliseconds
 */
export function writeVitals(nodeId: string, vitals: DeviceVitals | null, now: number): Statement {
  if (vitals === null) return forgetVitals(nodeId)
  return sql`INSERT INTO device_vitals SELECT node_id, account_id,
      CASE WHEN account_id = '' THEN '' ELSE CAST(${JSON.stringify(vitals)} AS TEXT) END, CAST(${now} AS BIGINT)
    FROM nodes WHERE node_id = ${nodeId}
    ON CONFLICT (node_id) DO UPDATE SET
      account_id = excluded.account_id, vitals = excluded.vitals, stated_at = excluded.stated_at`
}

export const forgetVitals = (nodeId: string): Statement =>
  sql`DELETE FROM device_vitals WHERE node_id = ${nodeId}`

export const createDeviceVitals = (store: SqlStore): DeviceVitalsStore => ({
  async find(accountId, nodeId) {
    const [row] = await store.run<{ vitals: string; stated_at: number }>(
      sql`SELECT vitals, stated_at FROM device_vitals
        JOIN nodes ON nodes.node_id = device_vitals.node_id AND nodes.account_id = device_vitals.account_id
        WHERE nodes.node_id = ${nodeId} AND nodes.account_id = ${accountId} AND vitals <> ''`,
    )
    // A newer replica may have written what this one does not know.
    const vitals = row && readVitals(JSON.parse(row.vitals))
    return vitals ? { vitals, statedAt: row!.stated_at } : undefined
  },
})
