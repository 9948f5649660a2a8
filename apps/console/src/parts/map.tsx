/** The world in outline, from packaged data, and the devices on it. Loaded when a view needs it. */
import type { Device } from '@selvedge/protocol/console'
import { type GeoPermissibleObjects, geoEqualEarth, geoGraticule10, geoPath } from 'd3-geo'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { feature } from 'topojson-client'
import countriesUrl from 'world-atlas/countries-110m.json?url'
import { presenceOf } from '../state/presence.ts'
import { navigate } from '../state/route.ts'
import type { MapPlace } from '../state/use-places.ts'
import { type Cluster, clusterPoints, type Point } from './clusters.ts'
import { nowMs } from './time.tsx'

const width = 960
const height = 480
const zooms = [1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096]
/** Size of a cluster in pixels of the screen. */
const raster = 26

const projection = geoEqualEarth().fitExtent(
  [
    [4, 4],
    [width - 4, height - 4],
  ],
  { type: 'Sphere' },
)

/** Positions of locations on the picture, cached: projecting them is the most expensive step. */
const points = new WeakMap<MapPlace, Point>()
function pointOf(place: MapPlace): Point {
  let point = points.get(place)
  if (!point) {
    const [x = 0, y = 0] = projection([place.longitude, place.latitude]) ?? []
    points.set(place, (point = { x, y }))
  }
  return point
}

export interface WorldMapProps {
  /** Where devices are; those that are known by name show it. */
  readonly places: readonly MapPlace[]
  readonly devices: readonly Device[]
  /** Zooms in on the places that are given, rather than show the whole world. */
  readonly focus?: boolean
}

export default function WorldMap({ places, devices, focus = false }: WorldMapProps) {
  const [land, setLand] = useState<GeoPermissibleObjects>()
  const [zoom, setZoom] = useState(focus ? 4 : 0)
  const [chosen, setChosen] = useState<Point>()
  /** Units of the picture in a pixel: what is written must be readable on a small screen, too. */
  const [unit, setUnit] = useState(1)
  const figure = useRef<HTMLElement>(null)
  useEffect(() => {
    const observer = new ResizeObserver(
      ([entry]) => entry && setUnit(width / Math.max(1, entry.contentRect.width)),
    )
    if (figure.current) observer.observe(figure.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    fetch(countriesUrl, { redirect: 'error' })
      .then((response) => response.json())
      .then((topology) => setLand(feature(topology, topology.objects.countries) as GeoPermissibleObjects))
      .catch(() => undefined)
  }, [])
  const { outline, borders, lines } = useMemo(() => {
    const path = geoPath(projection)
    return {
      outline: path({ type: 'Sphere' }) ?? '',
      lines: path(geoGraticule10()) ?? '',
      borders: (land && path(land)) ?? '',
    }
  }, [land])
  const scale = zooms[zoom] ?? 1
  const { box, clusters } = useMemo(() => {
    const world = { x: width / 2, y: height / 2 }
    const center = scale === 1 ? world : (chosen ?? middleOf(places) ?? world)
    const seen = {
      x: center.x - width / scale / 2,
      y: center.y - height / scale / 2,
      width: width / scale,
      height: height / scale,
    }
    return { box: seen, clusters: clusterPoints(places, pointOf, seen, (raster * unit) / scale) }
  }, [places, scale, chosen, unit])
  const names = useMemo(() => new Map(devices.map((each) => [each.nodeId, each])), [devices])

  const closer = (to?: Point) => {
    if (to) setChosen(to)
    setZoom((before) => Math.min(zooms.length - 1, before + (to ? 2 : 1)))
  }
  const words =
    places.length > 20
      ? `${places.length} devices in ${clusters.length} places that are seen`
      : places.map((place) => describe(place, names.get(place.nodeId))).join('; ')
  return (
    <figure class="map" ref={figure}>
      <svg
        viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
        role="img"
        aria-label={`Map. ${words || 'No device has a location.'}`}
      >
        <path class="sea" d={outline} />
        <path class="lines" d={lines} vector-effect="non-scaling-stroke" />
        <path class="land" d={borders} vector-effect="non-scaling-stroke" />
        {clusters.map((cluster) =>
          cluster.count === 1 ? (
            <Pin key={cluster.first.nodeId} place={cluster.first} device={names.get(cluster.first.nodeId)} />
          ) : (
            <Crowd
              key={`crowd ${cluster.first.nodeId}`}
              cluster={cluster}
              size={unit / scale}
              onChoose={() => closer(cluster)}
            />
          ),
        )}
      </svg>
      <figcaption>
        <button
          type="button"
          aria-label="Zoom in"
          disabled={zoom === zooms.length - 1}
          onClick={() => closer()}
        >
          +
        </button>
        <button type="button" aria-label="Zoom out" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
          −
        </button>
      </figcaption>
    </figure>
  )
}

function Pin({ place, device }: { place: MapPlace; device: Device | undefined }) {
  const { x, y } = pointOf(place)
  const state = device?.state ?? presenceOf(place.heardAt, nowMs())
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the list below has the links.
    <g
      class={`pin ${state}`}
      data-node={place.nodeId}
      style={{ transform: `translate(${x}px, ${y}px)` }}
      onClick={() => navigate(`/devices/${place.nodeId}`)}
    >
      {/* Dots of the same size on the screen, however far the map is zoomed in. */}
      <path d="M0 0h.0001" class="halo" vector-effect="non-scaling-stroke" />
      <path d="M0 0h.0001" class="dot" vector-effect="non-scaling-stroke" />
      <title>{device ? `${device.name}, ${state}` : `${place.nodeId.slice(0, 12)}, ${state}`}</title>
    </g>
  )
}

/** Several devices in one place; the more, the larger. */
function Crowd({
  cluster,
  size,
  onChoose,
}: {
  cluster: Cluster<MapPlace>
  size: number
  onChoose: () => void
}) {
  const { x, y, count } = cluster
  const radius = Math.min(raster / 2, 6 + Math.log10(count) * 2)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the buttons do the same.
    <g
      class="crowd"
      data-count={count}
      style={{ transform: `translate(${x}px, ${y}px) scale(${size})` }}
      onClick={onChoose}
    >
      <circle r={radius} />
      <text dy="0.35em">{count < 1000 ? count : `${Math.round(count / 1000)}k`}</text>
      <title>{`${count} devices; click to come closer`}</title>
    </g>
  )
}

const describe = ({ nodeId, latitude, longitude }: MapPlace, device: Device | undefined): string =>
  `${device?.name ?? nodeId.slice(0, 12)} at ${latitude.toFixed(2)}, ${longitude.toFixed(2)}`

function middleOf(places: readonly MapPlace[]): Point | undefined {
  if (places.length === 0) return undefined
  const least = { x: Number.POSITIVE_INFINITY, y: Number.POSITIVE_INFINITY }
  const most = { x: Number.NEGATIVE_INFINITY, y: Number.NEGATIVE_INFINITY }
  for (const place of places) {
    const { x, y } = pointOf(place)
    least.x = Math.min(least.x, x)
    least.y = Math.min(least.y, y)
    most.x = Math.max(most.x, x)
    most.y = Math.max(most.y, y)
  }
  return { x: (least.x + most.x) / 2, y: (least.y + most.y) / 2 }
}
