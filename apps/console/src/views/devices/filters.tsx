import { useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { type DeviceFilterName, type DeviceQuery, deviceFilters } from '../../state/device-query.ts'

/** Loaded when it is first opened. */
const FilterDialog = lazyView(() => import('./filter-dialog.tsx'))

export interface FilterProps {
  readonly query: DeviceQuery
  readonly onFilter: (words: Partial<Record<DeviceFilterName | 'need', string>>) => void
}

/** Loaded with the first filter. */
const AllChips = lazyView(() => import('./chips.tsx'))

/** Active filters, if there are any. */
export const Chips = (props: FilterProps) =>
  (['need', ...deviceFilters] as const).some((name) => props.query[name] !== undefined) ? (
    <AllChips {...props} />
  ) : null

export function FilterButton(props: FilterProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="btn quiet" onClick={() => setOpen(true)}>
        <Icon name="list-filter" />
        Filter
      </button>
      {isOpen && <FilterDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}
