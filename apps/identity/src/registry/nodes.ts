import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { RecentMap } from '@selvedge/service-kit/tokens'

export interface Node {
  readonly nodeId: string
  readonly name: string
  /** Empty where the node is associated with none. */
  readonly accountId: string
  /** The agreement of the HMAC secret: both public keys as JWK text, and the secret itself in base64url. */
  readonly hmac: { readonly nodeKey: string; readonly cloudKey: string; readonly secret: string }
  readonly enrolledAt: number
  readonly lastSeenAt: number
  readonly blockedAt: number | null
}

export interface Nodes {
  find(nodeId: string): Promise<Node | undefined>
  /** Writes a node as it is now; whether it is blocked is not touched. */
  save(node: Node): Promise<void>
  list(): Promise<Node[]>
  /** @throws RpcError `not_found` */
  setBlocked(nodeId: string, blocked: boolean): Promise<Node>
}

export function createNodes(store: SqlStore, clock: Clock): Nodes {
  const recent = new RecentMap<string, Node>(100_000)
  return {
    async find(nodeId) {
      const known = recent.get(nodeId)
      if (known) return known
      const rows = await store.run(sql`SELECT * FROM nodes WHERE node_id = ${nodeId}`)
      if (!rows[0]) return undefined
      const node = toNode(rows[0])
      recent.set(nodeId, node)
      return node
    },
    async save({ nodeId, name, accountId, hmac, enrolledAt, lastSeenAt }) {
      const rows = await store.run(
        sql`INSERT INTO nodes VALUES (${nodeId}, ${name}, ${accountId}, ${hmac.nodeKey}, ${hmac.cloudKey}, ${hmac.secret},
            ${enrolledAt}, ${lastSeenAt}, NULL)
          ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, account_id = excluded.account_id,
            hmac_node_key = excluded.hmac_node_key, hmac_cloud_key = excluded.hmac_cloud_key,
            hmac_secret = excluded.hmac_secret, last_seen_at = excluded.last_seen_at
          RETURNING *`,
      )
      recent.set(nodeId, toNode(rows[0]!))
    },
    list: async () => (await store.run(sql`SELECT * FROM nodes ORDER BY enrolled_at`)).map(toNode),
    async setBlocked(nodeId, blocked) {
      const at = blocked ? clock.now() : null
      const rows = await store.run(
        sql`UPDATE nodes SET blocked_at = ${at} WHERE node_id = ${nodeId} RETURNING *`,
      )
      if (!rows[0]) throw new RpcError('not_found', `no node with the ID ${nodeId} ever enrolled`)
      const node = toNode(rows[0])
      recent.set(nodeId, node)
      return node
    },
  }
}

const toNode = (row: Row): Node => ({
  nodeId: row.node_id as string,
  name: row.name as string,
  accountId: row.account_id as string,
  hmac: {
    nodeKey: row.hmac_node_key as string,
    cloudKey: row.hmac_cloud_key as string,
    secret: row.hmac_secret as string,
  },
  enrolledAt: row.enrolled_at as number,
  lastSeenAt: row.last_seen_at as number,
  blockedAt: row.blocked_at as number | null,
})

/** A node as the operator sees it: without its secret. */
export const describeNode = ({ nodeId, name, accountId, enrolledAt, lastSeenAt, blockedAt }: Node) => ({
  nodeId,
  name,
  accountId,
  enrolledAt: isoTime(enrolledAt),
  lastSeenAt: isoTime(lastSeenAt),
  blockedAt: blockedAt === null ? null : isoTime(blockedAt),
})
