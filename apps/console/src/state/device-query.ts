/** What the list of devices shows, as in the query of its address: a link to it shows the same. */
import type { ConsoleInput, Device, DeviceNeed } from '@selvedge/protocol/console'
import { useQuery } from './route.ts'

export type DeviceSort = NonNullable<ConsoleInput<'device.list'>['sort']>

/** Words that devices are filtered by, beside their state. */
export const deviceFilters = ['tag', 'service', 'version'] as const
export type DeviceFilterName = (typeof deviceFilters)[number]

export interface DeviceQuery extends Readonly<Record<DeviceFilterName, string | undefined>> {
  /** Counted from 0. */
  readonly page: number
  readonly search: string
  readonly state: Device['state'] | undefined
  readonly need: DeviceNeed | undefined
  readonly sort: DeviceSort
  readonly descending: boolean
}

const needs: readonly DeviceNeed[] = ['failing', 'disk', 'clock', 'certificate']

export const deviceStates = ['online', 'away', 'blocked'] as const
const sorts: readonly DeviceSort[] = ['added', 'name', 'seen', 'version']

/** Characters of a search. */
const maxSearchLength = 64

/** The query, and what changes it; another search, state or order begins at the first page. */
export function useDeviceQuery() {
  const [query, change] = useQuery()
  const [, minus = '', sort] = /^(-?)(\w+)$/.exec(query.get('sort') ?? '') ?? []
  const word = (name: DeviceFilterName) => query.get(name)?.slice(0, maxSearchLength) || undefined
  const asked: DeviceQuery = {
    page: Math.max(0, Math.trunc(Number(query.get('page') ?? 1)) - 1 || 0),
    search: (query.get('search') ?? '').slice(0, maxSearchLength),
    state: deviceStates.find((each) => each === query.get('state')),
    need: needs.find((each) => each === query.get('need')),
    tag: word('tag'),
    service: word('service'),
    version: word('version'),
    sort: sorts.find((each) => each === sort) ?? 'added',
    descending: minus === '-',
  }
  return {
    query: asked,
    setPage: (page: number) => change({ page: page === 0 ? '' : String(page + 1) }),
    setSearch: (search: string) => change({ search, page: '' }),
    setState: (state: string) => change({ state, page: '' }),
    setFilters: (words: Readonly<Partial<Record<DeviceFilterName | 'need', string>>>) =>
      change({ ...words, page: '' }),
    setNeed: (need: string) => change({ need, page: '' }),
    clear: () => change({ search: '', state: '', need: '', tag: '', service: '', version: '', page: '' }),
    /** The same order again turns it round. */
    sortBy(by: DeviceSort) {
      const isTurned = asked.sort === by && !asked.descending
      change({ sort: isTurned ? `-${by}` : by, page: '' })
    },
  }
}

/** Whether a query shows some of the devices only. */
export const isFiltered = ({ search, state, need, tag, service, version }: DeviceQuery): boolean =>
  search !== '' || [state, need, tag, service, version].some((each) => each !== undefined)

/** What a query selects, without order and page: as members of a call, and as a query of a path. */
export const selectionOf = ({ search, state, need, tag, service, version }: DeviceQuery) => ({
  ...(search !== '' && { search }),
  ...(need && { need }),
  ...(state && { state }),
  ...(tag && { tag }),
  ...(service && { service }),
  ...(version && { version }),
})
