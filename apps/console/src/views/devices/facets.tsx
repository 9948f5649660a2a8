import type { Device } from '@selvedge/protocol/console'
import { DeviceState } from '../../parts/state.tsx'
import { deviceStates } from '../../state/device-query.ts'

/** Chooses a state, and shows how many devices are in each. */
export function Facets(props: {
  counts: Readonly<Record<Device['state'], number>>
  chosen: Device['state'] | undefined
  onChoose: (state: string) => void
}) {
  const { counts, chosen, onChoose } = props
  const all = counts.online + counts.away + counts.blocked
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend.
    <div class="facets" role="group" aria-label="Filter by status">
      <button type="button" aria-pressed={chosen === undefined} onClick={() => onChoose('')}>
        All <b>{all.toLocaleString('en')}</b>
      </button>
      {deviceStates.map((state) => (
        <button key={state} type="button" aria-pressed={chosen === state} onClick={() => onChoose(state)}>
          <DeviceState state={state} /> <b>{counts[state].toLocaleString('en')}</b>
        </button>
      ))}
    </div>
  )
}
