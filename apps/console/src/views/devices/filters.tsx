import { useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { type DeviceFilterName, type DeviceQuery, deviceFilters } from '../../state/device-query.ts'

/** Loaded when it is first opened. */
const FilterDialog = lazyView(() => import('./filter-dialog.tsx'))

export interface FilterProps {
  readonly query: DeviceQuery
  readonly onFilter: (words: Partial<Record<DeviceFilterName, string>>) => void
}

/** Active filters; each is removed by a click. */
export const Chips = ({ query, onFilter }: FilterProps) => (
  <>
    {deviceFilters.map(
      (name) =>
        query[name] !== undefined && (
          <button key={name} type="button" class="chip" onClick={() => onFilter({ [name]: '' })}>
            <span class="cut">
              {name} is {query[name]}
            </span>
            <Icon name="x" />
            <span class="unseen">Remove filter</span>
          </button>
        ),
    )}
  </>
)

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
