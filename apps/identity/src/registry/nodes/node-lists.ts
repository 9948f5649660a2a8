/** Lists of nodes, as people see them: by state, by name, in an order that they choose. */
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { type DeviceLabel, hasTag, joinLabels, labelColumns, toLabel } from './device-labels.ts'
import type { Node, NodeRows } from './node-rows.ts'
import type { Nodes } from './nodes.ts'

/** Columns of each order, and the one that decides between equals. */
const orders = {
  added: 'enrolled_at',
  name: "LOWER(COALESCE(NULLIF(device_labels.name, ''), nodes.name))",
  seen: 'last_seen_at',
  version: 'version',
} as const

export type NodeOrder = keyof typeof orders

/** As the console defines them. */
export type NodeState = 'online' | 'away' | 'blocked'

/** Which nodes of an account. */
export interface NodeQuery {
  /** Part of a name or of a tag, or the beginning of a node ID; "" for all. */
  readonly search: string
  /** Undefined: with any tags. */
  readonly tag: string | undefined
  /** Undefined: all. */
  readonly state: NodeState | undefined
  readonly order: NodeOrder
  readonly isDescending: boolean
  /** Unix milliseconds: nodes that were seen then or later are online. */
  readonly onlineSince: number
  /** Nodes of a page, and which page, counted from 0. */
  readonly size: number
  readonly page: number
}

export interface NodePage {
  readonly nodes: { readonly node: Node; readonly label: DeviceLabel }[]
  /** Nodes that fit the whole query. */
  readonly total: number
  /** Nodes that fit it but for its state. */
  readonly counts: Readonly<Record<NodeState, number>>
}

const join = (...parts: readonly Statement[]): Statement => ({
  sql: parts.map((each) => each.sql).join(' '),
  values: parts.flatMap((each) => each.values),
})

/** Text of this file, never of a caller. */
const fixed = (text: string): Statement => ({ sql: text, values: [] })

function matching(accountId: string, search: string, tag: string | undefined): Statement {
  const escaped = search.toLowerCase().replace(/[!%_]/g, (special) => `!${special}`)
  const part = `%${escaped}%`
  return join(
    fixed(`FROM nodes ${joinLabels}`),
    sql`WHERE nodes.account_id = ${accountId}
      AND (LOWER(nodes.name) LIKE ${part} ESCAPE '!' OR nodes.node_id LIKE ${`${escaped}%`} ESCAPE '!'
        OR LOWER(device_labels.name) LIKE ${part} ESCAPE '!' OR device_labels.tags LIKE ${part} ESCAPE '!')`,
    tag === undefined ? fixed('') : hasTag(tag),
  )
}

function inState(state: NodeState | undefined, onlineSince: number): Statement {
  if (state === undefined) return fixed('')
  if (state === 'blocked') return fixed('AND blocked_at IS NOT NULL')
  const seen = state === 'online' ? sql`last_seen_at >= ${onlineSince}` : sql`last_seen_at < ${onlineSince}`
  return join(fixed('AND blocked_at IS NULL AND'), seen)
}

export const createNodeLists = (
  store: SqlStore,
  { toNode }: NodeRows,
): Pick<Nodes, 'list' | 'page' | 'accountKeyEpoch'> => ({
  async list(accountId) {
    const all = await store.run(
      accountId === undefined
        ? sql`SELECT * FROM nodes ORDER BY enrolled_at`
        : sql`SELECT * FROM nodes WHERE account_id = ${accountId} ORDER BY enrolled_at`,
    )
    return all.map(toNode)
  },
  async page(accountId, { search, tag, state, order, isDescending, onlineSince, size, page }) {
    const match = matching(accountId, search, tag)
    const by = fixed(`ORDER BY ${orders[order]} ${isDescending ? 'DESC' : 'ASC'}, nodes.node_id`)
    const some = join(
      fixed(`SELECT nodes.*, ${labelColumns}`),
      match,
      inState(state, onlineSince),
      by,
      sql`LIMIT ${size} OFFSET ${size * page}`,
    )
    const counted = join(
      sql`SELECT COUNT(*) AS known, COUNT(blocked_at) AS blocked,
        COUNT(CASE WHEN blocked_at IS NULL AND last_seen_at >= ${onlineSince} THEN 1 END) AS online`,
      match,
    )
    const [rows, [row]] = await Promise.all([store.run(some), store.run(counted)])
    const { known, blocked, online } = {
      known: Number(row?.known ?? 0),
      blocked: Number(row?.blocked ?? 0),
      online: Number(row?.online ?? 0),
    }
    const counts = { online, blocked, away: known - blocked - online }
    const found = rows.map((each) => ({ node: toNode(each), label: toLabel(each) }))
    return { nodes: found, total: state === undefined ? known : counts[state], counts }
  },
  async accountKeyEpoch(accountId) {
    const [row] = await store.run(sql`SELECT epoch FROM account_keys WHERE account_id = ${accountId}`)
    return (row?.epoch as number | undefined) ?? 0
  },
})
