import { RpcError } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../changes/changes.ts'
import type { Seal } from '../keys/seal.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { batch, inBatches, type SweepTask } from '../sweep/sweep.ts'

type NodeServices = NonNullable<NodeStatement['services']>

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
  readonly version: string
  readonly services: NodeServices
  /** The account that its owner removed from the node, until the node has done so, too; else empty. */
  readonly removedAccount: string
  /** Number of the change with which it left an account last, and when that was; 0: never. */
  readonly accountEpoch: number
  readonly accountAt: number
}

interface NodeChange {
  /** Whether more changed than when the node was seen. */
  readonly isNews: boolean
  /** Account that the node had when it was read, if what the node states of its account is to be written. */
  readonly accountBefore?: string | undefined
  /** Statements of the same transaction; they run after the node was written. */
  readonly records?: readonly Statement[]
}

export interface Nodes {
  find(nodeId: string): Promise<Node | undefined>
  /**
   * Writes what a node states. Whether it is blocked is not touched; its account only if it states one, and if nobody changed
   * the account since it was read.
   *
   * @returns the node as it is now
   */
  save(node: Node, change: NodeChange): Promise<Node>
  /** All of them, or those of an account. */
  list(accountId?: string): Promise<Node[]>
  /**
   * Some of an account's nodes, in the order in which they enrolled.
   *
   * @param search part of a name, or the beginning of a node ID; "" for all
   */
  page(
    accountId: string,
    search: string,
    page: { size: number; number: number },
  ): Promise<{ nodes: Node[]; total: number }>
  /** Blocks a node, and with that every token for it; or removes the block. @throws RpcError `not_found` */
  setBlocked(nodeId: string, blocked: boolean): Promise<Node>
  /** Removes the account from a node, and revokes every token for it. */
  removeAccount(nodeId: string): Promise<Node>
  /** Number of the change with which a node left an account last; 0: none did. */
  accountKeyEpoch(accountId: string): Promise<number>
  /** How many nodes an account has. */
  countOf(accountId: string): Promise<number>
  /** Removes nodes that enrolled, never had an account, and were not seen for some time. Each may enrol again. */
  readonly removeStrangers: SweepTask
  /** Called with each node of which this process learns something new. */
  onChange(listener: (node: Node) => void): void
}

export interface NodesOptions {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Changes
  readonly seal: Seal
  readonly revocations: Revocations
  /** Milliseconds after which a node without an account is removed. */
  readonly forgetAfterMs: number
}

export function createNodes(options: NodesOptions): Nodes {
  const { store, clock, changes, seal, revocations, forgetAfterMs } = options
  const listeners: ((node: Node) => void)[] = []
  const cache = changes.cache<Node>({
    topic: 'node',
    limit: 100_000,
    read,
    async onChange(nodeId) {
      const node = listeners.length > 0 ? await cache.fill(nodeId, () => read(nodeId)) : undefined
      if (node) tell(node)
    },
  })
  const find = cache.find

  async function read(nodeId: string): Promise<Node | undefined> {
    const rows = await store.run(sql`SELECT * FROM nodes WHERE node_id = ${nodeId}`)
    return rows[0] && toNode(rows[0])
  }

  function tell(node: Node): void {
    for (const each of listeners) each(node)
  }

  function toNode(row: Row): Node {
    const nodeId = row.node_id as string
    const secret = row.hmac_secret as string
    return {
      nodeId,
      name: row.name as string,
      accountId: row.account_id as string,
      hmac: {
        nodeKey: row.hmac_node_key as string,
        cloudKey: row.hmac_cloud_key as string,
        // A database from before secrets were encrypted holds some that are not; the next save encrypts them.
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
  }

  async function found(nodeId: string): Promise<Node> {
    const node = await find(nodeId)
    if (node) return node
    throw new RpcError('not_found', `there is no node with the ID ${nodeId}`)
  }

  return {
    find,
    async save(node, { isNews, accountBefore, records = [] }) {
      const { nodeId, name, accountId, hmac, enrolledAt, lastSeenAt, version, services, removedAccount } =
        node
      const sealed = seal.close(hmac.secret, purposeOf(nodeId))
      const states = accountBefore === undefined ? 0 : 1
      const before = accountBefore ?? ''
      const leaves = before !== '' && before !== accountId ? 1 : 0
      const statement = sql`INSERT INTO nodes VALUES (${nodeId}, ${name}, ${accountId}, ${hmac.nodeKey}, ${hmac.cloudKey}, ${sealed},
          ${enrolledAt}, ${lastSeenAt}, NULL, ${version}, ${JSON.stringify(services)}, ${removedAccount}, 0, 0)
        ON CONFLICT (node_id) DO UPDATE SET name = excluded.name,
          account_id = CASE WHEN ${states} = 1 AND nodes.account_id = ${before} THEN excluded.account_id ELSE nodes.account_id END,
          removed_account = CASE WHEN ${states} = 1 AND nodes.account_id = ${before}
            THEN excluded.removed_account ELSE nodes.removed_account END,
          account_epoch = CASE WHEN ${leaves} = 1 AND nodes.account_id = ${before}
            THEN (SELECT value FROM counters WHERE name = 'changes') ELSE nodes.account_epoch END,
          account_at = CASE WHEN ${leaves} = 1 AND nodes.account_id = ${before} THEN ${clock.now()} ELSE nodes.account_at END,
          hmac_node_key = excluded.hmac_node_key, hmac_cloud_key = excluded.hmac_cloud_key,
          hmac_secret = excluded.hmac_secret, last_seen_at = excluded.last_seen_at, version = excluded.version,
          services = excluded.services RETURNING *`
      if (isNews) {
        const first = leaves === 1 ? [changeAccountKey(nodeId)] : []
        const rows = await changes.commit([...first, statement, ...records], [['node', nodeId]])
        return toNode(rows[first.length]![0]!)
      }
      const saved = await cache.fill(nodeId, async () => toNode((await store.run(statement))[0]!))
      tell(saved!)
      return saved!
    },
    async list(accountId) {
      const rows = await store.run(
        accountId === undefined
          ? sql`SELECT * FROM nodes ORDER BY enrolled_at`
          : sql`SELECT * FROM nodes WHERE account_id = ${accountId} ORDER BY enrolled_at`,
      )
      return rows.map(toNode)
    },
    async page(accountId, search, { size, number }) {
      const escaped = search.toLowerCase().replace(/[!%_]/g, (special) => `!${special}`)
      const name = `%${escaped}%`
      const id = `${escaped}%`
      const [rows, [count]] = await Promise.all([
        store.run(sql`SELECT * FROM nodes WHERE account_id = ${accountId} AND (LOWER(name) LIKE ${name} ESCAPE '!' OR node_id LIKE ${id} ESCAPE '!')
          ORDER BY enrolled_at, node_id LIMIT ${size} OFFSET ${size * number}`),
        store.run(
          sql`SELECT COUNT(*) AS total FROM nodes WHERE account_id = ${accountId} AND (LOWER(name) LIKE ${name} ESCAPE '!' OR node_id LIKE ${id} ESCAPE '!')`,
        ),
      ])
      return { nodes: rows.map(toNode), total: Number(count?.total ?? 0) }
    },
    async setBlocked(nodeId, blocked) {
      await found(nodeId)
      const at = blocked ? clock.now() : null
      const statements = [
        ...(blocked ? [changeAccountKey(nodeId)] : []),
        sql`UPDATE nodes SET blocked_at = ${at} WHERE node_id = ${nodeId}`,
      ]
      if (blocked) await revocations.revokeAll('node', nodeId, { statements, noted: [['node', nodeId]] })
      else await changes.commit(statements, [['node', nodeId]])
      return found(nodeId)
    },
    async removeAccount(nodeId) {
      await found(nodeId)
      const statements = [
        changeAccountKey(nodeId),
        sql`UPDATE nodes SET removed_account = account_id, account_id = '', account_at = ${clock.now()},
            account_epoch = (SELECT value FROM counters WHERE name = 'changes')
          WHERE node_id = ${nodeId} AND account_id <> ''`,
      ]
      await revocations.revokeAll('node', nodeId, { statements, noted: [['node', nodeId]] })
      return found(nodeId)
    },
    async accountKeyEpoch(accountId) {
      const rows = await store.run(sql`SELECT epoch FROM account_keys WHERE account_id = ${accountId}`)
      return (rows[0]?.epoch as number | undefined) ?? 0
    },
    async countOf(accountId) {
      const [row] = await store.run(sql`SELECT COUNT(*) AS total FROM nodes WHERE account_id = ${accountId}`)
      return Number(row!.total)
    },
    removeStrangers: {
      name: 'nodes',
      // One that is blocked stays so, and one that left an account must not come back with a token of then.
      run: (until) =>
        inBatches(
          store,
          () => sql`DELETE FROM nodes WHERE node_id IN (SELECT node_id FROM nodes WHERE account_id = ''
            AND last_seen_at <= ${until - forgetAfterMs} AND blocked_at IS NULL AND removed_account = ''
            AND account_at = 0 AND account_epoch = 0 LIMIT ${batch}) RETURNING 1 AS one`,
        ),
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/** Another key for the nodes of an account to know each other by, since one of them leaves it. */
const changeAccountKey = (nodeId: string): Statement =>
  sql`INSERT INTO account_keys SELECT nodes.account_id, counters.value FROM nodes, counters
    WHERE nodes.node_id = ${nodeId} AND nodes.account_id <> '' AND counters.name = 'changes'
    ON CONFLICT (account_id) DO UPDATE SET epoch = excluded.epoch`

const purposeOf = (nodeId: string): string => `HMAC secret of node ${nodeId}`

/** A node as the operator sees it: without its secret. */
export const describeNode = ({ nodeId, name, accountId, enrolledAt, lastSeenAt, blockedAt }: Node) => ({
  nodeId,
  name,
  accountId,
  enrolledAt: isoTime(enrolledAt),
  lastSeenAt: isoTime(lastSeenAt),
  blockedAt: blockedAt === null ? null : isoTime(blockedAt),
})
