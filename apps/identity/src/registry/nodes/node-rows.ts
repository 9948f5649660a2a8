/** Nodes as rows of their table. The HMAC secret of a node is encrypted. */
import type { NodeStatement } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { type Row, type Statement, sql } from '@selvedge/service-kit/store'
import type { Seal } from '../../storage/secrets/seal.ts'

type NodeServices = NonNullable<NodeStatement['services']>

export interface Node {
  readonly nodeId: string
  readonly name: string
  /** "" while the node belongs to no account. */
  readonly accountId: string
  /** The agreement of the HMAC secret: both public keys as JWK text, and the secret itself in base64url. */
  readonly hmac: { readonly nodeKey: string; readonly cloudKey: string; readonly secret: string }
  /** Unix milliseconds. */
  readonly enrolledAt: number
  readonly lastSeenAt: number
  readonly blockedAt: number | null
  readonly version: string
  readonly services: NodeServices
  /** The account that its owner removed from the node, until the node confirms it; otherwise "". */
  readonly removedAccount: string
  /** Number of the change with which the node last left an account, and its time in Unix milliseconds; 0: never. */
  readonly accountEpoch: number
  readonly accountAt: number
}

export interface NodeRows {
  toNode(row: Row): Node
  /** The HMAC secret of a node, encrypted. */
  sealedSecretOf(node: Node): string
}

export const createNodeRows = (seal: Seal): NodeRows => ({
  toNode(row) {
    const nodeId = row.node_id as string
    const secret = row.hmac_secret as string
    return {
      nodeId,
      name: row.name as string,
      accountId: row.account_id as string,
      hmac: {
        nodeKey: row.hmac_node_key as string,
        cloudKey: row.hmac_cloud_key as string,
        // A database of an old version contains secrets that are not encrypted; the next save encrypts them.
        secret: seal.isSealed(secret) ? seal.open(secret, purposeOf(nodeId)) : secret,
      },
      enrolledAt: row.enrolled_at as number,
      lastSeenAt: row.last_seen_at as number,
      blockedAt: row.blocked_at as number | null,
      version: row.version as string,
      services: JSON.parse(row.services as string),
      removedAccount: row.removed_account as string,
      accountEpoch: row.account_epoch as number,
      accountAt: row.account_at as number,
    }
  },
  sealedSecretOf: ({ nodeId, hmac }) => seal.close(hmac.secret, purposeOf(nodeId)),
})

const purposeOf = (nodeId: string): string => `HMAC secret of node ${nodeId}`

export interface Save {
  readonly node: Node
  readonly sealedSecret: string
  /** Account of the node when it was read, if the node states its account; otherwise the account stays. */
  readonly accountBefore: string | undefined
  /** Maximum nodes of the account that the node joins; undefined if it joins no account. */
  readonly maxNodes: number | undefined
  /** Condition under which the node is written; undefined: always. */
  readonly only?: Statement | undefined
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Writes a node as one statement, and returns its row: no row if the account that it joins is full. It changes no block, and the
 * account only if no other request changed it since the node was read.
 */
export function saveStatement({ node, sealedSecret, accountBefore, maxNodes, only, now }: Save): Statement {
  const { nodeId, name, accountId, hmac, enrolledAt, lastSeenAt, version, services, removedAccount } = node
  const states = accountBefore === undefined ? 0 : 1
  const before = accountBefore ?? ''
  const leaves = before !== '' && before !== accountId ? 1 : 0
  // A node joins an account only by stating it.
  const joined = accountBefore === undefined ? '' : accountId
  const room = maxNodes === undefined ? sql`1 = 1` : hasRoom(node, maxNodes)
  const may = only ? { sql: `${room.sql} AND ${only.sql}`, values: [...room.values, ...only.values] } : room
  const insert = sql`INSERT INTO nodes SELECT CAST(${nodeId} AS TEXT), CAST(${name} AS TEXT), CAST(${joined} AS TEXT),
      CAST(${hmac.nodeKey} AS TEXT), CAST(${hmac.cloudKey} AS TEXT), CAST(${sealedSecret} AS TEXT), CAST(${enrolledAt} AS BIGINT),
      CAST(${lastSeenAt} AS BIGINT), NULL, CAST(${version} AS TEXT), CAST(${JSON.stringify(services)} AS TEXT),
      CAST(${removedAccount} AS TEXT), 0, 0`
  const update = sql`ON CONFLICT (node_id) DO UPDATE SET name = excluded.name,
    account_id = CASE WHEN ${states} = 1 AND nodes.account_id = ${before} THEN excluded.account_id ELSE nodes.account_id END,
    removed_account = CASE WHEN ${states} = 1 AND nodes.account_id = ${before}
      THEN excluded.removed_account ELSE nodes.removed_account END,
    account_epoch = CASE WHEN ${leaves} = 1 AND nodes.account_id = ${before}
      THEN (SELECT value FROM counters WHERE name = 'changes') ELSE nodes.account_epoch END,
    account_at = CASE WHEN ${leaves} = 1 AND nodes.account_id = ${before} THEN ${now} ELSE nodes.account_at END,
    hmac_node_key = excluded.hmac_node_key, hmac_cloud_key = excluded.hmac_cloud_key,
    hmac_secret = excluded.hmac_secret, last_seen_at = excluded.last_seen_at, version = excluded.version,
    services = excluded.services RETURNING *`
  return {
    sql: `${insert.sql} WHERE ${may.sql} ${update.sql}`,
    values: [...insert.values, ...may.values, ...update.values],
  }
}

/** A repeated request counts no second time: the node may be in the account already. */
const hasRoom = ({ nodeId, accountId }: Node, maxNodes: number): Statement =>
  sql`((SELECT COUNT(*) FROM nodes WHERE account_id = ${accountId}) < ${maxNodes}
    OR EXISTS (SELECT 1 FROM nodes WHERE node_id = ${nodeId} AND account_id = ${accountId}))`

/** A new key by which the nodes of an account know each other, since one of them leaves it. Runs before the node leaves. */
export const changeAccountKey = (nodeId: string): Statement =>
  sql`INSERT INTO account_keys SELECT nodes.account_id, counters.value FROM nodes, counters
    WHERE nodes.node_id = ${nodeId} AND nodes.account_id <> '' AND counters.name = 'changes'
    ON CONFLICT (account_id) DO UPDATE SET epoch = excluded.epoch`

/** The same after a node was saved that may have left an account: its row has the number of this change if it did. */
export const changeAccountKeyIfLeft = (nodeId: string, accountBefore: string): Statement =>
  sql`INSERT INTO account_keys SELECT CAST(${accountBefore} AS TEXT), counters.value FROM nodes, counters
    WHERE nodes.node_id = ${nodeId} AND nodes.account_epoch = counters.value AND counters.name = 'changes'
    ON CONFLICT (account_id) DO UPDATE SET epoch = excluded.epoch`

/** A node as the operator sees it: without its secret. */
export const describeNode = ({ nodeId, name, accountId, enrolledAt, lastSeenAt, blockedAt }: Node) => ({
  nodeId,
  name,
  accountId,
  enrolledAt: isoTime(enrolledAt),
  lastSeenAt: isoTime(lastSeenAt),
  blockedAt: blockedAt === null ? null : isoTime(blockedAt),
})
