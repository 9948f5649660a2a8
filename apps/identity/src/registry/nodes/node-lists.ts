/** Lists of nodes, as people see them: those that fit a filter, in an order that they choose. */
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { type DeviceLabel, joinLabels, labelColumns, toLabel } from './device-labels.ts'
import { fixed, inState, join, matching, type NodeFilter, type NodeState } from './node-filter.ts'
import type { Node, NodeRows } from './node-rows.ts'

/** Where the sorted value of each order is, beside the node ID, which decides between equals. An index has each order. */
const orders = {
  added: { from: 'nodes', value: 'nodes.enrolled_at' },
  seen: { from: 'nodes', value: 'nodes.last_seen_at' },
  name: { from: 'name', value: 'facet.value' },
  version: { from: 'version', value: 'facet.value' },
} as const

type NodeOrder = keyof typeof orders

/** One page of the nodes of an account that fit a filter. */
export interface NodeQuery extends NodeFilter {
  readonly order: NodeOrder
  readonly isDescending: boolean
  /** Nodes of a page, and which page, counted from 0. */
  readonly size: number
  readonly page: number
}

export interface ListedNode {
  readonly node: Node
  readonly label: DeviceLabel
}

interface NodePage {
  readonly nodes: readonly ListedNode[]
  /** Nodes that fit the whole query. */
  readonly total: number
  /** Nodes that fit it but for its state. */
  readonly counts: Readonly<Record<NodeState, number>>
}

const directionOf = (isDescending: boolean): string => (isDescending ? 'DESC' : 'ASC')

/** IDs of a page, in its order: only indexes are read for them. */
function chosen(accountId: string, query: NodeQuery): Statement {
  const { order, isDescending, size, page } = query
  const { from, value } = orders[order]
  const direction = directionOf(isDescending)
  const isOfNode = from === 'nodes'
  const id = isOfNode ? 'nodes.node_id' : 'facet.node_id'
  return join(
    fixed(`SELECT ${id} AS node_id, ${value} AS sorted_by FROM ${isOfNode ? '' : 'device_facets AS facet,'}`),
    matching(accountId, query),
    inState(query),
    isOfNode
      ? fixed('')
      : sql`AND facet.account_id = ${accountId} AND facet.kind = ${from} AND facet.node_id = nodes.node_id`,
    fixed(`ORDER BY ${value} ${direction}, ${id} ${direction}`),
    sql`LIMIT ${size} OFFSET ${size * page}`,
  )
}

/** Rows of the nodes that a statement chooses. */
function rowsOf(choice: Statement, isDescending = false): Statement {
  const direction = directionOf(isDescending)
  return join(
    fixed(`SELECT nodes.*, ${labelColumns} FROM (`),
    choice,
    fixed(`) AS chosen JOIN nodes ON nodes.node_id = chosen.node_id ${joinLabels}
      ORDER BY chosen.sorted_by ${direction}, nodes.node_id ${direction}`),
  )
}

const counted = (accountId: string, query: NodeFilter): Statement =>
  join(
    sql`SELECT COUNT(*) AS known, COUNT(blocked_at) AS blocked,
      COUNT(CASE WHEN blocked_at IS NULL AND last_seen_at >= ${query.onlineSince} THEN 1 END) AS online FROM`,
    matching(accountId, query),
  )

/** When a node was last seen, and whether it is blocked: an index has all of it. */
interface Standing {
  readonly nodeId: string
  /** Unix milliseconds. */
  readonly lastSeenAt: number
  readonly isBlocked: boolean
}

/** The next nodes in the order in which they were last seen. A node that is seen meanwhile comes once more, at the end. */
const nextSeen = (
  accountId: string,
  filter: NodeFilter,
  last: Standing | undefined,
  size: number,
): Statement =>
  join(
    fixed('SELECT nodes.node_id, nodes.last_seen_at, nodes.blocked_at FROM'),
    matching(accountId, filter),
    inState(filter),
    last === undefined
      ? fixed('')
      : sql`AND (nodes.last_seen_at, nodes.node_id) > (${last.lastSeenAt}, ${last.nodeId})`,
    sql`ORDER BY nodes.last_seen_at, nodes.node_id LIMIT ${size}`,
  )

/** The next nodes in the order in which they were added. */
const following = (
  accountId: string,
  filter: NodeFilter,
  after: Pick<Node, 'enrolledAt' | 'nodeId'> | undefined,
  size: number,
): Statement =>
  join(
    fixed('SELECT nodes.node_id, nodes.enrolled_at AS sorted_by FROM'),
    matching(accountId, filter),
    inState(filter),
    after === undefined
      ? fixed('')
      : sql`AND (nodes.enrolled_at, nodes.node_id) > (${after.enrolledAt}, ${after.nodeId})`,
    sql`ORDER BY nodes.enrolled_at, nodes.node_id LIMIT ${size}`,
  )

export interface NodeLists {
  /** All of them, or those of an account. */
  list(accountId?: string): Promise<Node[]>
  /** Some of an account's nodes, and how many there are in each state. */
  page(accountId: string, query: NodeQuery): Promise<NodePage>
  /** The next ones that fit a filter, as they were added. @param last the last of those before; undefined: from the first */
  after(
    accountId: string,
    filter: NodeFilter,
    last: Pick<Node, 'enrolledAt' | 'nodeId'> | undefined,
    size: number,
  ): Promise<ListedNode[]>
  /** The next ones that fit a filter, as they were last seen. @param last the last of those before; undefined: from the first */
  standings(
    accountId: string,
    filter: NodeFilter,
    last: Standing | undefined,
    size: number,
  ): Promise<Standing[]>
  /** Number of the change with which a node last left an account; 0: no node left it. */
  accountKeyEpoch(accountId: string): Promise<number>
}

export const createNodeLists = (store: SqlStore, { toNode }: NodeRows): NodeLists => ({
  async list(accountId) {
    const all = await store.run(
      accountId === undefined
        ? sql`SELECT * FROM nodes ORDER BY enrolled_at`
        : sql`SELECT * FROM nodes WHERE account_id = ${accountId} ORDER BY enrolled_at`,
    )
    return all.map(toNode)
  },
  async page(accountId, query) {
    const { state, isDescending } = query
    const [rows, [row]] = await Promise.all([
      store.run(rowsOf(chosen(accountId, query), isDescending)),
      store.run(counted(accountId, query)),
    ])
    const { known, blocked, online } = {
      known: Number(row!.known),
      blocked: Number(row!.blocked),
      online: Number(row!.online),
    }
    const counts = { online, blocked, away: known - blocked - online }
    const nodes = rows.map((each) => ({ node: toNode(each), label: toLabel(each) }))
    return { nodes, total: state === undefined ? known : counts[state], counts }
  },
  async after(accountId, filter, last, size) {
    const rows = await store.run(rowsOf(following(accountId, filter, last, size)))
    return rows.map((each) => ({ node: toNode(each), label: toLabel(each) }))
  },
  async standings(accountId, filter, last, size) {
    const rows = await store.run(nextSeen(accountId, filter, last, size))
    return rows.map((row) => ({
      nodeId: row.node_id as string,
      lastSeenAt: row.last_seen_at as number,
      isBlocked: row.blocked_at !== null,
    }))
  },
  async accountKeyEpoch(accountId) {
    const [row] = await store.run(sql`SELECT epoch FROM account_keys WHERE account_id = ${accountId}`)
    return row ? (row.epoch as number) : 0
  },
})
