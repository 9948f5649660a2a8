import type { DeviceFacets } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { capital } from '../../parts/capital.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, Select } from '../../parts/form.tsx'
import { Bones } from '../../parts/view.tsx'
import { deviceFilters } from '../../state/device-query.ts'
import { useCall } from '../../state/use-call.ts'
import type { FilterProps } from './filters.tsx'

/** Values of a facet with their counts, and the chosen one even if it is not among them. */
function optionsOf({ values, isCut }: DeviceFacets['tag'], chosen: string | undefined) {
  const known = values.map(({ value, count }) => {
    const devices = `${count.toLocaleString('en')}${isCut ? ' or more' : ''}`
    return [value, `${value} (${devices})`] as const
  })
  const isKnown = chosen === undefined || values.some(({ value }) => value === chosen)
  return [['', 'Any'] as const, ...(isKnown ? [] : [[chosen, chosen] as const]), ...known]
}

export default function FilterDialog({ query, onFilter, onClose }: FilterProps & { onClose: () => void }) {
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
