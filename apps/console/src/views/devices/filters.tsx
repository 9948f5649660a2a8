import type { DeviceFacets } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, Select } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { capital } from '../../parts/state.tsx'
import { Bones } from '../../parts/view.tsx'
import { type DeviceFilterName, type DeviceQuery, deviceFilters } from '../../state/device-query.ts'
import { useCall } from '../../state/use-call.ts'

interface FilterProps {
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

/** Values of a facet with their counts, and the chosen one even if it is not among them. */
function optionsOf({ values, isCut }: DeviceFacets['tag'], chosen: string | undefined) {
  const known = values.map(({ value, count }) => {
    const devices = `${count.toLocaleString('en')}${isCut ? ' or more' : ''}`
    return [value, `${value} (${devices})`] as const
  })
  const isKnown = chosen === undefined || values.some(({ value }) => value === chosen)
  return [['', 'Any'] as const, ...(isKnown ? [] : [[chosen, chosen] as const]), ...known]
}

function FilterDialog({ query, onFilter, onClose }: FilterProps & { onClose: () => void }) {
  const { data, error } = useCall(() => api['device.facets']())
  const isCut = data && deviceFilters.some((name) => data[name].isCut)
  return (
    <Dialog title="Filter devices" closing="Cancel" onClose={onClose}>
      {error && <p class="error">{error}</p>}
      {!data && !error && <Bones />}
      {data && (
        <Form
          submit="Show devices"
          send={async (values) => {
            onFilter(Object.fromEntries(deviceFilters.map((name) => [name, String(values.get(name))])))
            onClose()
          }}
        >
          {deviceFilters.map((name) => (
            <Select
              key={name}
              label={capital(name)}
              name={name}
              value={query[name] ?? ''}
              options={optionsOf(data[name], query[name])}
            />
          ))}
          {isCut && <p class="faint">The 100 most frequent of each. Search finds other tags.</p>}
        </Form>
      )}
    </Dialog>
  )
}
