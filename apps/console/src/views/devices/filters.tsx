import { useState } from 'preact/hooks'
import { capital } from '../../parts/capital.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import {
  type DeviceFilterName,
  type DeviceQuery,
  deviceFilters,
  needWords,
} from '../../state/device-query.ts'

/** Loaded when it is first opened. */
const FilterDialog = lazyView(() => import('./filter-dialog.tsx'))

export interface FilterProps {
  readonly query: DeviceQuery
  readonly onFilter: (words: Partial<Record<DeviceFilterName | 'need', string>>) => void
}

/** Active filters; each is removed by a click. */
export const Chips = ({ query, onFilter }: FilterProps) => (
  <>
    {query.need && <Chip text={capital(needWords[query.need])} onRemove={() => onFilter({ need: '' })} />}
    {deviceFilters.map(
      (name) =>
        query[name] !== undefined && (
          <Chip key={name} text={`${name} is ${query[name]}`} onRemove={() => onFilter({ [name]: '' })} />
        ),
    )}
  </>
)

const Chip = ({ text, onRemove }: { text: string; onRemove: () => void }) => (
  <button type="button" class="chip" onClick={onRemove}>
    <span class="cut">{text}</span>
    <Icon name="x" />
    <span class="unseen">Remove filter</span>
  </button>
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
