import type { DeviceNeed } from '@selvedge/protocol/console'
import { Icon } from '../../parts/icon.tsx'
import { deviceFilters } from '../../state/device-query.ts'
import type { FilterProps } from './filters.tsx'
import './chips.css'

/** What devices need a person for, in the words of a filter. */
const needWords: Readonly<Record<DeviceNeed, string>> = {
  failing: 'Service failed',
  disk: 'Disk almost full',
  clock: 'Clock not known',
  certificate: 'Certificate expires',
}

/** Active filters; each is removed by a click. */
const Chips = ({ query, onFilter }: FilterProps) => (
  <>
    {query.need && <Chip text={needWords[query.need]} onRemove={() => onFilter({ need: '' })} />}
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

export default Chips
