/**
 * What devices use join keys for. Taking a use is one statement with all its conditions, and the device joins in the same transaction:
 * of fifty devices that race for the last use, one joins, and a request that is repeated changes nothing.
 */
import { RpcError } from '@selvedge/protocol'
import type { WaitingDevice } from '@selvedge/protocol/console'
import { fingerprintOf, joinLimits, joinName, shortIdOf } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { isOpen, type JoinKey, needsApproval, takeTurn, usedCount } from './join-keys.ts'

/** A device that shows a key. */
export interface Joining {
  readonly key: JoinKey
  readonly nodeId: string
  /** As the device states it; "" without a usable one. */
  readonly serial: string
  readonly address: string
  /** Maximum nodes of the account. */
  readonly maxNodes: number
}

/** Statements of the transaction of `changes.commit` in which a device joins. */
export interface JoinStatements {
  /** Counts the use; runs before the node is written. */
  readonly take: Statement
  /** Condition: this transaction has counted the use. */
  readonly isTaken: Statement
  /** Name and tags; runs after the node was written. */
  readonly label: readonly Statement[]
}

export interface JoinUses {
  join(joining: Joining): JoinStatements
  /** Lets a device wait for an approval. @returns whether it waits; otherwise the key is not open any more, or too many devices wait */
  queue(joining: Joining): Promise<boolean>
  waiting(accountId: string): Promise<WaitingDevice[]>
  /** @throws RpcError `not_found` if no such device waits */
  decide(accountId: string, nodeId: string, state: 'approved' | 'refused'): Promise<void>
}

const isNow = `(SELECT value FROM counters WHERE name = 'changes')`

/** Condition: the node is of no account, and did not leave one after the key was made. */
const isFree = ({ key, nodeId }: Joining): Statement =>
  sql`NOT EXISTS (SELECT 1 FROM nodes WHERE node_id = ${nodeId}
    AND (account_id <> '' OR account_epoch > ${key.epoch} OR blocked_at IS NOT NULL))`

const hasRoom = ({ key, maxNodes }: Joining): Statement =>
  sql`(SELECT COUNT(*) FROM nodes WHERE account_id = ${key.accountId}) < ${maxNodes}`

const all = (...parts: readonly Statement[]): Statement => ({
  sql: parts.map((each) => each.sql).join(' AND '),
  values: parts.flatMap((each) => each.values),
})

/** Inserts a use under the next number, unless the node has one. @param only condition */
function insertUse(joining: Joining, state: 'joined' | 'waiting', now: number, only: Statement): Statement {
  const { key, nodeId, serial, address } = joining
  const row = sql`INSERT INTO join_uses SELECT key_id, CAST(${nodeId} AS TEXT), account_id`
  const rest = sql`CAST(${state} AS TEXT), CAST(${serial} AS TEXT), CAST(${address} AS TEXT), CAST(${now} AS BIGINT)`
  return {
    sql: `${row.sql}, 1 + ${usedCount}, ${rest.sql}, ${state === 'joined' ? isNow : 0} FROM join_keys
      WHERE key_id = ? AND ${state === 'waiting' ? '' : 'NOT '}${needsApproval} AND ${only.sql} ON CONFLICT DO NOTHING RETURNING number`,
    values: [...row.values, ...rest.values, key.keyId, ...only.values],
  }
}

/** Uses the approval of a device. It counts also after the key has expired. */
function useApproval(joining: Joining, now: number): Statement {
  const { key, nodeId } = joining
  const own = sql`UPDATE join_uses SET state = 'joined', at = ${now}, epoch = (SELECT value FROM counters WHERE name = 'changes')
    WHERE key_id = ${key.keyId} AND node_id = ${nodeId} AND state = 'approved'
      AND EXISTS (SELECT 1 FROM join_keys WHERE key_id = ${key.keyId} AND revoked_at IS NULL)`
  return all(own, isFree(joining), hasRoom(joining))
}

/** Gives the device the name and the tags of the key. A name that another device of the account has gets the short node ID. */
function writeLabel({ key, nodeId, serial }: Joining, only: Statement): Statement[] {
  const name = joinName(key.name, nodeId, serial)
  if (name === '' && key.tags.length === 0) return []
  const short = shortIdOf(nodeId)
  const other = `${name.slice(0, joinLimits.nameCharacters - short.length - 1).toWellFormed()}-${short}`
  const row = sql`INSERT INTO device_labels SELECT nodes.node_id, nodes.account_id,
      CASE WHEN ${name} <> '' AND EXISTS (SELECT 1 FROM device_facets WHERE device_facets.account_id = ${key.accountId}
        AND kind = 'name' AND value = LOWER(CAST(${name} AS TEXT)) AND device_facets.node_id <> ${nodeId})
        THEN CAST(${other} AS TEXT) ELSE CAST(${name} AS TEXT) END,
      CAST(${JSON.stringify(key.tags)} AS TEXT)
    FROM nodes WHERE nodes.node_id = ${nodeId} AND nodes.account_id = ${key.accountId}`
  return [
    {
      sql: `${row.sql} AND ${only.sql} ON CONFLICT (node_id) DO UPDATE SET account_id = excluded.account_id,
        name = excluded.name, tags = excluded.tags`,
      values: [...row.values, ...only.values],
    },
  ]
}

export function createJoinUses(store: SqlStore, clock: Clock): JoinUses {
  return {
    join(joining) {
      const { key, nodeId } = joining
      const now = clock.now()
      const isTaken = sql`EXISTS (SELECT 1 FROM join_uses WHERE key_id = ${key.keyId} AND node_id = ${nodeId}
        AND state = 'joined' AND epoch = (SELECT value FROM counters WHERE name = 'changes'))`
      return {
        isTaken,
        take:
          key.use === 'approved'
            ? useApproval(joining, now)
            : insertUse(joining, 'joined', now, all(isOpen(now), isFree(joining), hasRoom(joining))),
        label: writeLabel(joining, isTaken),
      }
    },
    async queue(joining) {
      const now = clock.now()
      const room = sql`(SELECT COUNT(*) FROM join_uses AS other JOIN join_keys AS its ON its.key_id = other.key_id AND its.revoked_at IS NULL
        WHERE other.account_id = ${joining.key.accountId} AND state = 'waiting') < ${joinLimits.waiting}`
      const only = all(isOpen(now), isFree(joining), room)
      const [, rows] = await store.transaction([takeTurn, insertUse(joining, 'waiting', now, only)])
      return rows!.length === 1
    },
    async waiting(accountId) {
      const rows = await store.run(
        sql`SELECT join_uses.node_id, nodes.name, serial, version, address, at, last_seen_at, join_uses.key_id, title
          FROM join_uses JOIN join_keys ON join_keys.key_id = join_uses.key_id AND join_keys.revoked_at IS NULL
          LEFT JOIN nodes ON nodes.node_id = join_uses.node_id AND nodes.account_id = ''
          WHERE join_uses.account_id = ${accountId} AND state = 'waiting' ORDER BY at, join_uses.node_id LIMIT ${joinLimits.waiting}`,
      )
      return rows.map((row) => ({
        nodeId: row.node_id as string,
        fingerprint: fingerprintOf(row.node_id as string),
        // The row of a node that was not seen for long is removed.
        name: (row.name as string | null) ?? '',
        serial: row.serial as string,
        version: (row.version as string | null) ?? '',
        address: row.address as string,
        since: isoTime(row.at as number),
        lastSeenAt: isoTime((row.last_seen_at ?? row.at) as number),
        keyId: row.key_id as string,
        keyTitle: row.title as string,
      }))
    },
    async decide(accountId, nodeId, state) {
      const rows = await store.run(
        sql`UPDATE join_uses SET state = ${state} WHERE account_id = ${accountId} AND node_id = ${nodeId} AND state = 'waiting'
          AND key_id IN (SELECT key_id FROM join_keys WHERE revoked_at IS NULL) RETURNING key_id`,
      )
      if (rows.length === 0) throw new RpcError('not_found', `no device ${nodeId} waits for the account`)
    },
  }
}
