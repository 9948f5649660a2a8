/** What the devices of an account can be filtered by: tags, services and versions, the most frequent first. */
import { type Shared, shareResult } from '@selvedge/service-kit/share'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { type FacetKind, facetKinds } from './node-filter.ts'

interface Facet {
  readonly value: string
  /** Devices with it. */
  readonly count: number
}

interface FacetList {
  /** At most {@link maxValues}. */
  readonly values: readonly Facet[]
  /** Whether there are other values, or devices that were not counted. */
  readonly isCut: boolean
}

export type DeviceFacets = Readonly<Record<FacetKind, FacetList>>

const maxValues = 100
/** Entries that are counted, for each kind: what a statement reads at most. */
const maxCounted = 500_000
/** Milliseconds for which counts are shown again, and maximum accounts with counts in memory. */
const memory = { forMs: 15_000, accounts: 1000 }

const listOf = (accountId: string, kind: FacetKind): Statement =>
  sql`SELECT value, COUNT(*) AS count, SUM(COUNT(*)) OVER () AS counted FROM
      (SELECT value FROM device_facets WHERE account_id = ${accountId} AND kind = ${kind} AND value <> ''
        ORDER BY value LIMIT ${maxCounted}) AS entry
    GROUP BY value ORDER BY COUNT(*) DESC, value LIMIT ${maxValues + 1}`

/** @param now milliseconds since any moment, which only grow */
export function createDeviceFacets(
  store: SqlStore,
  now = () => performance.now(),
): (accountId: string) => Promise<DeviceFacets> {
  const known = new Map<string, { readonly until: number; readonly facets: Shared<DeviceFacets> }>()

  async function read(accountId: string, kind: FacetKind): Promise<FacetList> {
    const rows = await store.run(listOf(accountId, kind))
    const values = rows.slice(0, maxValues).map(({ value, count }) => ({
      value: value as string,
      count: Number(count),
    }))
    return { values, isCut: rows.length > maxValues || Number(rows[0]?.counted ?? 0) >= maxCounted }
  }

  async function readAll(accountId: string): Promise<DeviceFacets> {
    const lists = await Promise.all(facetKinds.map((kind) => read(accountId, kind)))
    return Object.fromEntries(facetKinds.map((kind, at) => [kind, lists[at]!])) as unknown as DeviceFacets
  }

  return (accountId) => {
    const held = known.get(accountId)
    if (held && held.until > now()) return held.facets()
    known.delete(accountId)
    if (known.size >= memory.accounts) known.delete(known.keys().next().value!)
    const facets = shareResult(() => readAll(accountId), 'device facets')
    known.set(accountId, { until: now() + memory.forMs, facets })
    return facets()
  }
}
