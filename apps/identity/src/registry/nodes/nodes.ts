/** The registry of nodes. Decisions are made from memory; every change of a node is written with a note for the other replicas. */
import { RpcError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Seal } from '../../storage/secrets/seal.ts'
import type { JoinStatements } from '../join/join-uses.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { forgetVitals } from './device-vitals.ts'
import { createNodeLists, type NodeLists } from './node-lists.ts'
import {
  changeAccountKey,
  changeAccountKeyIfLeft,
  createNodeRows,
  describeNode,
  type Node,
  saveStatement,
} from './node-rows.ts'

export { describeNode, type Node }

interface NodeChange {
  /** Whether more changed than the time at which the node was last seen. */
  readonly isNews: boolean
  /** Account that the node had when it was read, if the node states its account. */
  readonly accountBefore?: string | undefined
  /** Statements of the same transaction; they run after the node was written. */
  readonly records?: readonly Statement[]
  /** The use of a join key by which the node joins; without it, nothing is written. */
  readonly join?: Pick<JoinStatements, 'take' | 'isTaken'> | undefined
}

export interface Nodes extends NodeLists {
  /** Maximum nodes of one account. */
  readonly maxNodes: number
  find(nodeId: string): Promise<Node | undefined>
  /**
   * Writes what a node states. It changes no block, and the account only if the node states it and no other request changed it
   * since the node was read.
   *
   * @returns the node as it is now; undefined if the account that it joins is full, or the use of the join key is gone: nothing was written
   */
  save(node: Node, change: NodeChange): Promise<Node | undefined>
  /** Blocks a node, and with that every token for it; or removes the block. @throws RpcError `not_found` */
  setBlocked(nodeId: string, blocked: boolean): Promise<Node>
  /** Removes the account from a node, and revokes every token for it. @throws RpcError `not_found` */
  removeAccount(nodeId: string): Promise<Node>
  /** Called with each node of which this process learns something new. */
  onChange(listener: (node: Node) => void): void
}

export interface NodesOptions {
  readonly store: SqlStore
  readonly clock: Clock
  readonly changes: Pick<Changes, 'cache' | 'commit'>
  readonly seal: Seal
  readonly revocations: Pick<Revocations, 'revokeAll'>
  readonly maxNodes: number
}

/** Nodes in memory. */
const maxCached = 100_000

export function createNodes(options: NodesOptions): Nodes {
  const { store, clock, changes, seal, maxNodes } = options
  const rows = createNodeRows(seal)
  const listeners: ((node: Node) => void)[] = []
  const cache = changes.cache<Node>({
    topic: 'node',
    limit: maxCached,
    read,
    async onChange(nodeId) {
      const node = listeners.length > 0 ? await cache.fill(nodeId, () => read(nodeId)) : undefined
      if (node) notify(node)
    },
  })

  async function read(nodeId: string): Promise<Node | undefined> {
    const [row] = await store.run(sql`SELECT * FROM nodes WHERE node_id = ${nodeId}`)
    return row && rows.toNode(row)
  }

  function notify(node: Node): void {
    for (const each of listeners) each(node)
  }

  return {
    ...createNodeLists(store, rows),
    ...createNodeDecisions(options, cache.find),
    maxNodes,
    find: cache.find,
    async save(node, { isNews, accountBefore, records = [], join }) {
      const { nodeId, accountId } = node
      const joins = accountId !== '' && accountBefore !== undefined && accountBefore !== accountId
      const statement = saveStatement({
        node,
        sealedSecret: rows.sealedSecretOf(node),
        accountBefore,
        maxNodes: joins ? maxNodes : undefined,
        only: join?.isTaken,
        now: clock.now(),
      })
      if (isNews) {
        const key = accountBefore ? [changeAccountKeyIfLeft(nodeId, accountBefore)] : []
        const first = join ? [join.take] : []
        const results = await changes.commit([...first, statement, ...key, ...records], [['node', nodeId]])
        const row = results[first.length]![0]
        return row && rows.toNode(row)
      }
      const write = async () => (await store.transaction([statement, ...records]))[0]![0]!
      const saved = await cache.fill(nodeId, async () => rows.toNode(await write()))
      notify(saved!)
      return saved
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/** What an owner or the operator decides about a node. Blocking a node and removing its account revoke every token for it. */
function createNodeDecisions(
  { clock, changes, revocations }: Pick<NodesOptions, 'clock' | 'changes' | 'revocations'>,
  find: Nodes['find'],
): Pick<Nodes, 'setBlocked' | 'removeAccount'> {
  async function found(nodeId: string): Promise<Node> {
    const node = await find(nodeId)
    if (node) return node
    throw new RpcError('not_found', `there is no node with the ID ${nodeId}`)
  }

  return {
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
        forgetVitals(nodeId),
        sql`UPDATE nodes SET removed_account = account_id, account_id = '', account_at = ${clock.now()},
            account_epoch = (SELECT value FROM counters WHERE name = 'changes')
          WHERE node_id = ${nodeId} AND account_id <> ''`,
      ]
      await revocations.revokeAll('node', nodeId, { statements, noted: [['node', nodeId]] })
      return found(nodeId)
    },
  }
}
