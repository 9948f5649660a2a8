/** Which devices are selected: a person picks rows, or all that the filter selects. */
import type { Device } from '@selvedge/protocol/console'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { type DeviceQuery, selectionOf } from '../../state/device-query.ts'
import { nameOf } from '../../state/presence.ts'

/** Devices that can be selected at once. */
export const maxSelected = 1000

/** Names of the selected devices by their node IDs. */
export type Chosen = ReadonlyMap<string, string>

export interface Selection {
  readonly chosen: Chosen
  set(devices: readonly Device[], isChosen: boolean): void
  /** Replaces the selection. */
  replace(chosen: Chosen): void
  clear(): void
}

const none: Chosen = new Map()

/** A selection that ends with the filter; Escape clears it, unless something is open that Escape closes. */
export function useSelection(query: DeviceQuery): Selection {
  const [chosen, setChosen] = useState(none)
  const about = JSON.stringify(selectionOf(query))
  useEffect(() => setChosen(none), [about])
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape' && !document.querySelector('dialog[open], details[open], :popover-open'))
        setChosen(none)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return {
    chosen,
    set: (devices, isChosen) =>
      setChosen((before) => {
        const next = new Map(before)
        for (const device of devices) {
          if (!isChosen) next.delete(device.nodeId)
          else if (next.size < maxSelected) next.set(device.nodeId, nameOf(device))
        }
        return next
      }),
    replace: setChosen,
    clear: () => setChosen(none),
  }
}

/** All devices that a query selects, at most {@link maxSelected}. */
export async function findAll(query: DeviceQuery): Promise<Chosen> {
  const found = new Map<string, string>()
  for (let page = 0; found.size < maxSelected; page++) {
    const { devices, pageSize } = await api['device.list']({ ...selectionOf(query), page })
    for (const device of devices) if (found.size < maxSelected) found.set(device.nodeId, nameOf(device))
    if (devices.length < pageSize) break
  }
  return found
}
