/** What the list of devices shows, as the query of its address says it: a link to it shows the same. */
import type { ConsoleInput, Device } from '@selvedge/protocol/console'
import { useQuery } from './route.ts'

export type DeviceSort = NonNullable<ConsoleInput<'device.list'>['sort']>

export interface DeviceQuery {
  /** Counted from 0. */
  readonly page: number
  readonly search: string
  readonly state: Device['state'] | undefined
  readonly tag: string | undefined
  readonly sort: DeviceSort
  readonly descending: boolean
}

export const deviceStates = ['online', 'away', 'blocked'] as const
const sorts: readonly DeviceSort[] = ['added', 'name', 'seen', 'version']

/** Characters of a search. */
export const maxSearchLength = 64

/** The query, and what changes it; another search, state or order begins at the first page. */
export function useDeviceQuery() {
  const [query, change] = useQuery()
  const [, minus = '', sort] = /^(-?)(\w+)$/.exec(query.get('sort') ?? '') ?? []
  const asked: DeviceQuery = {
    page: Math.max(0, Math.trunc(Number(query.get('page') ?? 1)) - 1 || 0),
    search: (query.get('search') ?? '').slice(0, maxSearchLength),
    state: deviceStates.find((each) => each === query.get('state')),
    tag: query.get('tag')?.slice(0, maxSearchLength) || undefined,
    sort: sorts.find((each) => each === sort) ?? 'added',
    descending: minus === '-',
  }
  return {
    query: asked,
    setPage: (page: number) => change({ page: page === 0 ? '' : String(page + 1) }),
    setSearch: (search: string) => change({ search, page: '' }),
    setState: (state: string) => change({ state, page: '' }),
    clearTag: () => change({ tag: '', page: '' }),
    /** The same order again turns it round. */
    sortBy(by: DeviceSort) {
      const isTurned = asked.sort === by && !asked.descending
      change({ sort: isTurned ? `-${by}` : by, page: '' })
    },
  }
}
