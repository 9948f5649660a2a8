import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import type { DeviceFilterName, DeviceQuery } from '../../state/device-query.ts'
import { Chips, FilterButton } from './filters.tsx'

/** Milliseconds without a key after which a search begins. */
const debounceMs = 250

/** Text of a field that is handed on when the person pauses; what others set is shown. */
function useLater(text: string, onText: (text: string) => void) {
  const [typed, setTyped] = useState(text)
  const handedOn = useRef(text)
  // What comes back of what was handed on is older than the field.
  useEffect(() => {
    if (text !== handedOn.current) setTyped(text)
    handedOn.current = text
  }, [text])
  useEffect(() => {
    if (typed === text) return
    const timer = setTimeout(() => {
      handedOn.current = typed
      onText(typed)
    }, debounceMs)
    return () => clearTimeout(timer)
  }, [typed])
  return [typed, setTyped] as const
}

/** A search field, filters, and how many devices there are. */
export function Finder(props: {
  query: DeviceQuery
  onSearch: (text: string) => void
  onFilter: (words: Partial<Record<DeviceFilterName | 'need', string>>) => void
  total: number
}) {
  const { query, onSearch, onFilter, total } = props
  const id = useId()
  const [typed, setTyped] = useLater(query.search, onSearch)
  return (
    <div class="tools">
      <div class="search">
        <Icon name="search" />
        <label for={id} class="unseen">
          Find a device
        </label>
        <input
          id={id}
          class="input"
          type="search"
          placeholder="Name, node ID or tag"
          maxLength={64}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </div>
      <FilterButton query={query} onFilter={onFilter} />
      <Chips query={query} onFilter={onFilter} />
      <span class="faint num push" role="status">
        {total === 1 ? '1 device' : `${total.toLocaleString('en')} devices`}
      </span>
    </div>
  )
}
