/** Which nodes of an account: the conditions of a list, for a statement that reads `nodes`. All of them are answered by an index. */
import { type Statement, sql } from '@selvedge/service-kit/store'

/** As the console defines them. */
export type NodeState = 'online' | 'away' | 'blocked'

/** Kinds of words that a node can be filtered by. */
export const facetKinds = ['tag', 'service', 'version'] as const
export type FacetKind = (typeof facetKinds)[number]

export interface NodeFilter extends Readonly<Record<FacetKind, string | undefined>> {
  /** Part of a name or of a tag, or the beginning of a node ID; "" for all. */
  readonly search: string
  /** Undefined: all. */
  readonly state: NodeState | undefined
  /** What a device needs a person for. Undefined: all. */
  readonly need: string | undefined
  /** Unix milliseconds: nodes that were seen then or later are online. */
  readonly onlineSince: number
}

export const join = (...parts: readonly Statement[]): Statement => ({
  sql: parts.map((each) => each.sql).join(' '),
  values: parts.flatMap((each) => each.values),
})

/** Text of these files, never of a caller. */
export const fixed = (text: string): Statement => ({ sql: text, values: [] })

/** Devices with a facet: the first condition of a statement makes a list of them, others look each device up. */
const withFacet = (accountId: string, kind: FacetKind, value: string, isFirst: boolean): Statement =>
  isFirst
    ? sql`AND nodes.node_id IN
        (SELECT node_id FROM device_facets WHERE account_id = ${accountId} AND kind = ${kind} AND value = ${value})`
    : sql`AND EXISTS (SELECT 1 FROM device_facets AS other WHERE other.account_id = ${accountId} AND other.kind = ${kind}
        AND other.value = ${value} AND other.node_id = nodes.node_id)`

/** Nodes with a text in their names or tags, or at the beginning of their ID: one row for each, read before the node. */
function found(accountId: string, search: string): Statement {
  const escaped = search.toLowerCase().replace(/[!%_]/g, (special) => `!${special}`)
  return sql`device_facets AS found CROSS JOIN nodes WHERE found.account_id = ${accountId} AND found.kind = 'text'
    AND (found.value LIKE ${`%${escaped}%`} ESCAPE '!' OR found.node_id LIKE ${`${escaped}%`} ESCAPE '!')
    AND nodes.node_id = found.node_id AND`
}

/** From which table the nodes of an account are read that fit a filter in any state, and conditions. */
export function matching(accountId: string, filter: Omit<NodeFilter, 'state' | 'onlineSince'>): Statement {
  const { search } = filter
  const wanted = facetKinds.flatMap((kind) =>
    filter[kind] === undefined ? [] : [[kind, filter[kind]] as const],
  )
  return join(
    search === '' ? fixed('nodes WHERE') : found(accountId, search),
    sql`nodes.account_id = ${accountId}`,
    ...wanted.map(([kind, value], at) => withFacet(accountId, kind, value, at === 0 && search === '')),
    filter.need === undefined
      ? fixed('')
      : sql`AND nodes.node_id IN
        (SELECT node_id FROM device_needs WHERE account_id = ${accountId} AND need = ${filter.need})`,
  )
}

export function inState({ state, onlineSince }: Pick<NodeFilter, 'state' | 'onlineSince'>): Statement {
  if (state === undefined) return fixed('')
  if (state === 'blocked') return fixed('AND nodes.blocked_at IS NOT NULL')
  const seen =
    state === 'online' ? sql`nodes.last_seen_at >= ${onlineSince}` : sql`nodes.last_seen_at < ${onlineSince}`
  return join(fixed('AND nodes.blocked_at IS NULL AND'), seen)
}
