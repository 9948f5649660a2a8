/** Names and tags that the people of an account give its devices. What a device states of itself is never put in their place. */
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'

export interface DeviceLabel {
  /** "" without one. */
  readonly name: string
  /** Words or `key:value`. */
  readonly tags: readonly string[]
}

export interface DeviceLabels {
  find(accountId: string, nodeId: string): Promise<DeviceLabel>
  /** Replaces the label of a device, while the device belongs to the account. */
  set(accountId: string, nodeId: string, label: DeviceLabel): Promise<void>
}

/** Joins the label of each row of `nodes`: nothing of an account that had the node before. */
export const joinLabels =
  'LEFT JOIN device_labels ON device_labels.node_id = nodes.node_id AND device_labels.account_id = nodes.account_id'

/** Columns of {@link joinLabels}. */
export const labelColumns = 'device_labels.name AS label_name, device_labels.tags AS label_tags'

/** @param row with the {@link labelColumns} */
export const toLabel = (row: Row | undefined): DeviceLabel => ({
  name: (row?.label_name as string | null | undefined) ?? '',
  tags: JSON.parse((row?.label_tags as string | null | undefined) ?? '[]') as string[],
})

export const createDeviceLabels = (store: SqlStore): DeviceLabels => ({
  async find(accountId, nodeId) {
    const [row] = await store.run(
      sql`SELECT name AS label_name, tags AS label_tags FROM device_labels
        WHERE node_id = ${nodeId} AND account_id = ${accountId}`,
    )
    return toLabel(row)
  },
  async set(accountId, nodeId, { name, tags }) {
    await store.run(
      sql`INSERT INTO device_labels SELECT node_id, account_id, CAST(${name} AS TEXT), CAST(${JSON.stringify(tags)} AS TEXT)
        FROM nodes WHERE node_id = ${nodeId} AND account_id = ${accountId}
        ON CONFLICT (node_id) DO UPDATE SET account_id = excluded.account_id, name = excluded.name, tags = excluded.tags`,
    )
  },
})
