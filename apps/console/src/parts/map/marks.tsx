/** A mark on the map: a device as a link to its page, or several of them as a button with their number. */
import type { Device } from '@selvedge/protocol/console'
import { nameOf } from '../../state/presence.ts'
import { Link } from '../link.tsx'
import { type State, states } from './fleet.ts'
import { arcsOf } from './ring.ts'

const kinds = { online: 'good', away: 'warn', blocked: 'bad' } as const

/** The name of a device, if it is known. */
export const titleOf = (device: Device | undefined, nodeId: string): string =>
  device ? nameOf(device) : nodeId.slice(0, 12)

/** One device: a disc while it is online, a hollow one while it is away, a square if it is blocked. */
export function Pin({ nodeId, state, title }: { nodeId: string; state: State; title: string }) {
  const label = `${title}, ${state}`
  return (
    <Link to={`/devices/${nodeId}`} class="mark-at" label={label}>
      <svg class={`pin ${kinds[state]}`} data-node={nodeId} viewBox="-8 -8 16 16" aria-hidden="true">
        <title>{label}</title>
        {state === 'blocked' ? <rect x="-5" y="-5" width="10" height="10" rx="2" /> : <circle r="5.5" />}
      </svg>
    </Link>
  )
}

/** Pixels of the ring: the more devices, the larger. */
const radiusOf = (count: number): number => Math.min(20, 11 + Math.log10(count) * 2)

interface CrowdProps {
  readonly count: number
  /** Devices by state, in the order of `states`. */
  readonly counts: readonly number[]
  readonly onChoose: () => void
}

/** Several devices near each other, in a ring with an arc for each state. */
export function Crowd({ count, counts, onChoose }: CrowdProps) {
  const radius = radiusOf(count)
  const size = 2 * (radius + 3)
  const parts = states.flatMap((state, index) => (counts[index]! > 0 ? [`${counts[index]} ${state}`] : []))
  const label = `${count} devices: ${parts.join(', ')}. Zoom in`
  return (
    <button type="button" class="mark-at crowd" aria-label={label} title={label} onClick={onChoose}>
      <svg
        aria-hidden="true"
        data-count={count}
        width={size}
        height={size}
        viewBox={`${-size / 2} ${-size / 2} ${size} ${size}`}
      >
        <circle class="disc" r={radius} />
        {arcsOf(counts).map(({ state, start, length }) => (
          <circle
            key={state}
            class={`arc ${kinds[state]}`}
            r={radius}
            pathLength={1}
            stroke-dasharray={`${length} ${1 - length}`}
            stroke-dashoffset={-start}
          />
        ))}
        <text dy="0.36em">{count < 1000 ? count : `${Math.round(count / 1000)}k`}</text>
      </svg>
    </button>
  )
}
