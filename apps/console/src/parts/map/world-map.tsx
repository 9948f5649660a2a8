/** The world, and the devices on it. Loaded when a view needs it; the list of devices is its text. */
import type { Device } from '@selvedge/protocol/console'
import { useEffect, useRef, useState } from 'preact/hooks'
import 'maplibre-gl/dist/maplibre-gl.css'
import './world-map.css'
import type { MapPlace } from '../../state/use-places.ts'
import { Icon } from '../icon.tsx'
import { openBackground } from './background/background.ts'
import { type FleetMap, openFleetMap } from './fleet-map.ts'
import { titleOf } from './marks.tsx'
import type { Trail } from './trail.ts'

export interface WorldMapProps {
  /** Where devices are; those that are known by name show it. */
  readonly places: readonly MapPlace[]
  readonly devices: readonly Device[]
  /** The moment for which the list of devices is right, in Unix milliseconds. */
  readonly atMs?: number
  /** A single device, with its surroundings. */
  readonly focus?: boolean
  /** Where that device was. */
  readonly trail?: Trail
  /** Whether news come as they happen; left out: it is not said. */
  readonly isLive?: boolean
}

/** Why there is no map. */
const failures = {
  unsupported: 'This browser can’t draw the map: it needs WebGL 2. All locations are in the lists.',
  lost: 'The browser stopped the map’s graphics. All locations are in the lists.',
} as const

const noTrail: Trail = []

export default function WorldMap(props: WorldMapProps) {
  const { places, devices, atMs = 0, focus = false, trail = noTrail, isLive } = props
  const [failure, setFailure] = useState<keyof typeof failures>()
  const [withBackground, setWithBackground] = useState(true)
  const [notice, setNotice] = useState('')
  return (
    <figure class={`map ${focus ? 'near' : ''}`}>
      {failure ? (
        <Failure text={failures[failure]} onAgain={() => setFailure(undefined)} />
      ) : (
        <LiveMap
          key={String(withBackground)}
          places={places}
          devices={devices}
          atMs={atMs}
          trail={trail}
          withBackground={withBackground}
          onFailure={setFailure}
          onNotice={setNotice}
          onStall={() => {
            setNotice('Map background: turned off, because it stopped the map')
            setWithBackground(false)
          }}
        />
      )}
      <div class="over" role="status">
        {isLive !== undefined && (
          <span class={`badge ${isLive ? '' : 'warn'}`}>
            <Icon name={isLive ? 'radio' : 'wifi-off'} />
            {isLive ? 'Live' : 'Reconnecting…'}
          </span>
        )}
        {notice !== '' && (
          <span class="badge warn">
            <Icon name="triangle-alert" />
            {notice}
          </span>
        )}
      </div>
    </figure>
  )
}

const Failure = ({ text, onAgain }: { text: string; onAgain: () => void }) => (
  <div class="map-failure" role="alert">
    <p>{text}</p>
    <button type="button" class="btn" onClick={onAgain}>
      Try again
    </button>
  </div>
)

interface LiveMapProps extends Pick<WorldMapProps, 'places' | 'devices'> {
  readonly atMs: number
  readonly trail: Trail
  readonly withBackground: boolean
  readonly onFailure: (failure: keyof typeof failures) => void
  readonly onNotice: (text: string) => void
  /** The background stops the map. */
  readonly onStall: () => void
}

function LiveMap(props: LiveMapProps) {
  const { places, devices, atMs, trail, withBackground, onFailure, onNotice, onStall } = props
  const holder = useRef<HTMLDivElement>(null)
  const shown = useRef<FleetMap | undefined>(undefined)
  const [can, setCan] = useState({ in: true, out: true })
  const [attribution, setAttribution] = useState('')
  useEffect(() => {
    const element = holder.current!
    try {
      shown.current = openFleetMap(element, {
        onMissing: () => onNotice('The outlines of countries could not be loaded'),
        onLost: () => onFailure('lost'),
        onZoom: setCan,
      })
    } catch {
      return onFailure('unsupported')
    }
    const opened = shown.current
    const closeBackground = withBackground
      ? openBackground(opened, { onProblem: onNotice, onAttribution: setAttribution, onStall })
      : undefined
    return () => {
      shown.current = undefined
      closeBackground?.()
      opened.close()
    }
  }, [])
  useEffect(() => {
    shown.current?.map.getCanvas().setAttribute('aria-label', describe(places, devices))
    shown.current?.show(places, devices, trail, atMs)
  }, [places, devices, trail, atMs])
  return (
    <>
      <div class="world" ref={holder} />
      <Controls
        can={can}
        onZoom={(steps) => shown.current?.camera.zoomBy(steps)}
        onFit={() => shown.current?.camera.fit()}
      />
      <small class="attribution">{attribution || 'Cities: GeoNames'}</small>
    </>
  )
}

function Controls(props: {
  can: { in: boolean; out: boolean }
  onZoom: (steps: number) => void
  onFit: () => void
}) {
  const { can, onZoom, onFit } = props
  const controls = [
    ['Zoom in', 'plus', can.in, () => onZoom(1)],
    ['Zoom out', 'minus', can.out, () => onZoom(-1)],
    ['Fit all devices', 'scan', true, onFit],
  ] as const
  return (
    <div class="zoom">
      {controls.map(([label, icon, isPossible, act]) => (
        <button
          key={label}
          type="button"
          class="btn square"
          aria-label={label}
          title={label}
          disabled={!isPossible}
          onClick={act}
        >
          <Icon name={icon} />
        </button>
      ))}
    </div>
  )
}

/** For people who do not see the map. The list of devices has the rest. */
function describe(places: readonly MapPlace[], devices: readonly Device[]): string {
  if (places.length === 0) return 'Map. No device has a location.'
  if (places.length > 20) return `Map of ${places.length} devices`
  const names = new Map(devices.map((each) => [each.nodeId, each]))
  const each = places.map(
    ({ nodeId, latitude, longitude }) =>
      `${titleOf(names.get(nodeId), nodeId)} at ${latitude.toFixed(2)}, ${longitude.toFixed(2)}`,
  )
  return `Map. ${each.join('; ')}`
}
