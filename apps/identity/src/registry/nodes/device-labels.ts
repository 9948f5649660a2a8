/** Names and tags that the people of an account give its devices. What a device states of itself is never put in their place. */
import { RpcError } from '@selvedge/protocol'
import { maxAccountTags, maxDeviceTags } from '@selvedge/protocol/console'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'

export interface DeviceLabel {
  /** "" without one. */
  readonly name: string
  /** Words or `key:value`. */
  readonly tags: readonly string[]
}

/** Tags that a device gets and loses. */
interface TagChange {
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

export interface DeviceLabels {
  find(accountId: string, nodeId: string): Promise<DeviceLabel>
  /** Tags of the devices of an account, at most as many as it may have. */
  tagsOf(accountId: string): Promise<string[]>
  /**
   * Replaces the label of a device, while the device belongs to the account.
   *
   * @throws RpcError `limit_exceeded` if the account has too many different tags
   */
  set(accountId: string, nodeId: string, label: DeviceLabel): Promise<void>
  /**
   * Adds tags to a device and removes tags from it, while the device belongs to the account; other changes of its label stay.
   *
   * @throws RpcError `limit_exceeded` if the device or the account has too many tags, `busy` if others change the label all the time
   */
  tag(accountId: string, nodeId: string, change: TagChange): Promise<void>
}

/** Attempts to change a label that others change, too. */
const maxAttempts = 5

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

/** Each step finds the next tag in the index. */
async function readTags(store: SqlStore, accountId: string): Promise<string[]> {
  const rows = await store.run(
    sql`WITH RECURSIVE tag (value) AS (
        SELECT MIN(value) FROM device_facets WHERE account_id = ${accountId} AND kind = 'tag'
        UNION ALL SELECT (SELECT MIN(value) FROM device_facets
          WHERE account_id = ${accountId} AND kind = 'tag' AND value > tag.value) FROM tag WHERE tag.value IS NOT NULL)
      SELECT value FROM tag WHERE value IS NOT NULL LIMIT ${maxAccountTags}`,
  )
  return rows.map((row) => row.value as string)
}

export function createDeviceLabels(store: SqlStore): DeviceLabels {
  async function find(accountId: string, nodeId: string): Promise<DeviceLabel> {
    const [row] = await store.run(
      sql`SELECT name AS label_name, tags AS label_tags FROM device_labels
        WHERE node_id = ${nodeId} AND account_id = ${accountId}`,
    )
    return toLabel(row)
  }

  async function expectRoom(accountId: string, tags: readonly string[]): Promise<void> {
    const isNew = await Promise.all(tags.map(async (tag) => !(await isKnown(accountId, tag))))
    const added = isNew.filter(Boolean).length
    if (added === 0) return
    if ((await readTags(store, accountId)).length + added > maxAccountTags)
      throw new RpcError('limit_exceeded', `an account has at most ${maxAccountTags} different tags`)
  }

  async function isKnown(accountId: string, tag: string): Promise<boolean> {
    const rows = await store.run(
      sql`SELECT 1 AS one FROM device_facets WHERE account_id = ${accountId} AND kind = 'tag' AND value = ${tag} LIMIT 1`,
    )
    return rows.length > 0
  }

  /** @param before tags that the label must still have; undefined: any @returns whether it was written */
  async function write(
    accountId: string,
    nodeId: string,
    { name, tags }: DeviceLabel,
    before?: readonly string[],
  ): Promise<boolean> {
    const any = before === undefined ? 1 : 0
    const rows = await store.run(
      sql`INSERT INTO device_labels SELECT node_id, account_id, CAST(${name} AS TEXT), CAST(${JSON.stringify(tags)} AS TEXT)
        FROM nodes WHERE node_id = ${nodeId} AND account_id = ${accountId}
        ON CONFLICT (node_id) DO UPDATE SET account_id = excluded.account_id,
          name = CASE WHEN ${any} = 1 OR device_labels.account_id <> excluded.account_id THEN excluded.name ELSE device_labels.name END,
          tags = excluded.tags
        WHERE ${any} = 1 OR device_labels.account_id <> excluded.account_id OR device_labels.tags = ${JSON.stringify(before ?? [])}
        RETURNING node_id`,
    )
    return rows.length > 0
  }

  return {
    find,
    tagsOf: (accountId) => readTags(store, accountId),
    async set(accountId, nodeId, label) {
      await expectRoom(accountId, label.tags)
      await write(accountId, nodeId, label)
    },
    async tag(accountId, nodeId, { add, remove }) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const { name, tags: before } = await find(accountId, nodeId)
        const tags = [...new Set([...before, ...add])].filter((each) => !remove.includes(each))
        if (tags.length > maxDeviceTags)
          throw new RpcError('limit_exceeded', `a device has at most ${maxDeviceTags} tags`)
        await expectRoom(
          accountId,
          tags.filter((each) => !before.includes(each)),
        )
        if (await write(accountId, nodeId, { name, tags }, before)) return
      }
      throw new RpcError('busy', 'others change the tags of the device')
    },
  }
}
