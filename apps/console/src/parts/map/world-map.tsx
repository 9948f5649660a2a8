/** The world in outline, from packaged data, and the devices on it. Loaded when a view needs it. */
import type { Device } from '@selvedge/protocol/console'
import { type GeoPermissibleObjects, geoGraticule10 } from 'd3-geo'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { feature } from 'topojson-client'
import countriesUrl from 'world-atlas/countries-110m.json?url'
import type { MapPlace } from '../../state/use-places.ts'
import { Icon } from '../icon.tsx'
import { type Cluster, clusterPoints, type Point } from './clusters.ts'
import { Crowd, clusterPx, Pin, titleOf } from './marks.tsx'
import { metresPerUnit, pathOf, pointOf, worldWidth } from './projection.ts'
import { boxOf, canZoom, fit, holds, type MapSize, type MapView, wholeWorld, zoomed } from './view-box.ts'

export interface WorldMapProps {
  /** Where devices are; those that are known by name show it. */
  readonly places: readonly MapPlace[]
  readonly devices: readonly Device[]
  /** A single device, with its surroundings. */
  readonly focus?: boolean
  /** Whether news come as they happen; left out: it is not said. */
  readonly isLive?: boolean
}

const graticule = pathOf(geoGraticule10()) ?? ''

function useLand(): string {
  const [land, setLand] = useState('')
  useEffect(() => {
    fetch(countriesUrl, { redirect: 'error' })
      .then((response) => response.json())
      .then((topology) =>
        setLand(pathOf(feature(topology, topology.objects.countries) as GeoPermissibleObjects) ?? ''),
      )
      .catch(() => undefined)
  }, [])
  return land
}

/** The size of the figure in pixels, followed as it changes. */
function useSize() {
  const figure = useRef<HTMLElement>(null)
  const [size, setSize] = useState<MapSize>({ width: worldWidth, height: worldWidth / 3 })
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width = 1, height = 1 } = entry?.contentRect ?? {}
      setSize({ width: Math.max(1, width), height: Math.max(1, height) })
    })
    if (figure.current) observer.observe(figure.current)
    return () => observer.disconnect()
  }, [])
  return { figure, size }
}

/** The view that fits the fleet. It stays as devices move, until one of them leaves it. */
function useFit(places: readonly MapPlace[], size: MapSize): MapView {
  const fitted = useRef<MapView | undefined>(undefined)
  const before = fitted.current
  if (!before || !holds(boxOf(before, size), places))
    fitted.current = places.length > 0 ? fit(places, size) : undefined
  return fitted.current ?? wholeWorld
}

export default function WorldMap({ places, devices, focus = false, isLive }: WorldMapProps) {
  const land = useLand()
  const { figure, size } = useSize()
  const [chosen, setChosen] = useState<MapView>()
  const fitting = useFit(places, size)
  const view = chosen ?? fitting
  const box = boxOf(view, size)
  const unit = box.width / size.width
  const clusters = useMemo(
    () => clusterPoints(places, pointOf, box, clusterPx * unit),
    [places, view, size.width, size.height],
  )
  const names = useMemo(() => new Map(devices.map((each) => [each.nodeId, each])), [devices])
  return (
    <figure class={`map ${focus ? 'near' : ''}`} ref={figure}>
      <svg
        class="world"
        viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
        role="img"
        aria-label={describe(places, names, clusters.length)}
      >
        <path class="grid" d={graticule} vector-effect="non-scaling-stroke" />
        <path class="land" d={land} vector-effect="non-scaling-stroke" />
        <Marks
          clusters={clusters}
          names={names}
          unit={unit}
          onChoose={(to) => setChosen(zoomed(view, 4, to))}
        />
      </svg>
      {isLive !== undefined && (
        <div class="over" role="status">
          <span class={`badge ${isLive ? 'good' : 'warn'}`}>
            <Icon name={isLive ? 'radio' : 'wifi-off'} />
            {isLive ? 'Live' : 'Reconnecting…'}
          </span>
        </div>
      )}
      <Controls view={view} onChange={setChosen} onFit={() => setChosen(fit(places, size))} />
      <Scale metresPerPx={metresPerUnit(view.center) * unit} />
    </figure>
  )
}

function Marks(props: {
  clusters: readonly Cluster<MapPlace>[]
  names: ReadonlyMap<string, Device>
  unit: number
  onChoose: (to: Point) => void
}) {
  const { clusters, names, unit, onChoose } = props
  return (
    <>
      {clusters.map((cluster) =>
        cluster.count === 1 ? (
          <Pin
            key={cluster.first.nodeId}
            place={cluster.first}
            device={names.get(cluster.first.nodeId)}
            unit={unit}
          />
        ) : (
          <Crowd
            key={`crowd ${cluster.first.nodeId}`}
            cluster={cluster}
            unit={unit}
            onChoose={() => onChoose(cluster)}
          />
        ),
      )}
    </>
  )
}

function Controls(props: { view: MapView; onChange: (view: MapView) => void; onFit: () => void }) {
  const { view, onChange, onFit } = props
  const can = canZoom(view)
  const controls = [
    ['Zoom in', 'plus', can.in, () => onChange(zoomed(view, 2))],
    ['Zoom out', 'minus', can.out, () => onChange(zoomed(view, 0.5))],
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

/** Pixels that the bar of the scale may be wide. */
const mostBarPx = 96

/** A bar whose length is a round number of metres, and the number. */
function Scale({ metresPerPx }: { metresPerPx: number }) {
  if (!(metresPerPx > 0)) return null
  const most = metresPerPx * mostBarPx
  const power = 10 ** Math.floor(Math.log10(most))
  const metres = ([5, 2, 1].find((each) => each * power <= most) ?? 1) * power
  return (
    <svg class="scale" width={mostBarPx + 2} height="26" aria-hidden="true">
      <path d={`M1 18v6h${metres / metresPerPx}v-6`} />
      <text x="5" y="14">
        {metres >= 1000 ? `${(metres / 1000).toLocaleString('en')} km` : `${metres} m`}
      </text>
    </svg>
  )
}

/** For people who do not see the map. The list of devices has the rest. */
function describe(places: readonly MapPlace[], names: ReadonlyMap<string, Device>, marks: number): string {
  if (places.length === 0) return 'Map. No device has a location.'
  if (places.length > 20) return `Map of ${places.length} devices in ${marks} places`
  const each = places.map(
    ({ nodeId, latitude, longitude }) =>
      `${titleOf(names.get(nodeId), nodeId)} at ${latitude.toFixed(2)}, ${longitude.toFixed(2)}`,
  )
  return `Map. ${each.join('; ')}`
}
