import type { Device } from '@selvedge/protocol/console'
import { nameOf, presenceOf } from '../../state/presence.ts'
import { navigate } from '../../state/route.ts'
import type { MapPlace } from '../../state/use-places.ts'
import { nowMs } from '../time.tsx'
import type { Cluster } from './clusters.ts'
import { pointOf } from './projection.ts'

/** Pixels within which devices are one mark. */
export const clusterPx = 26

const kinds = { online: 'good', away: 'warn', blocked: 'bad' } as const

/** The name of a device, if it is known. */
export const titleOf = (device: Device | undefined, nodeId: string): string =>
  device ? nameOf(device) : nodeId.slice(0, 12)

/** One device. Marks have the same size on the screen, however far the map is zoomed in. */
export function Pin(props: { place: MapPlace; device: Device | undefined; unit: number }) {
  const { place, device, unit } = props
  const { x, y } = pointOf(place)
  const state = device?.state ?? presenceOf(place.heardAt, nowMs())
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the list below has the links.
    <g
      class="mark-at"
      data-node={place.nodeId}
      style={{ transform: `translate(${x}px, ${y}px) scale(${unit})` }}
      onClick={() => navigate(`/devices/${place.nodeId}`)}
    >
      {state === 'blocked' ? (
        <rect class="pin bad" x="-5" y="-5" width="10" height="10" rx="2" />
      ) : (
        <circle class={`pin ${kinds[state]}`} r="5.5" />
      )}
      <title>{`${titleOf(device, place.nodeId)}, ${state}`}</title>
    </g>
  )
}

/** Several devices in one place; the more, the larger. */
export function Crowd(props: { cluster: Cluster<MapPlace>; unit: number; onChoose: () => void }) {
  const {
    cluster: { x, y, count },
    unit,
    onChoose,
  } = props
  const radius = Math.min(clusterPx / 2 + 3, 9 + Math.log10(count) * 2)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the buttons do the same.
    <g
      class="crowd mark-at"
      data-count={count}
      style={{ transform: `translate(${x}px, ${y}px) scale(${unit})` }}
      onClick={onChoose}
    >
      <circle class="disc" r={radius} />
      <circle class="ring" r={radius} />
      <text dy="0.36em">{count < 1000 ? count : `${Math.round(count / 1000)}k`}</text>
      <title>{`${count} devices; click to zoom in`}</title>
    </g>
  )
}
