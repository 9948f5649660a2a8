/** The world in outline, from packaged data, and the devices on it. Loaded when a view needs it. */
import type { Device } from '@selvedge/protocol/console'
import { type GeoPermissibleObjects, geoEqualEarth, geoGraticule10, geoPath } from 'd3-geo'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { feature } from 'topojson-client'
import countriesUrl from 'world-atlas/countries-110m.json?url'
import { navigate } from '../state/route.ts'

const width = 960
const height = 480
const zooms = [1, 2, 4, 8, 16, 32, 64]

type Placed = Device & { fix: NonNullable<Device['fix']> }

const isPlaced = (device: Device): device is Placed => device.fix !== null

/** @param focus zooms in on the devices that are given, rather than show the whole world */
export default function WorldMap({
  devices,
  focus = false,
}: {
  devices: readonly Device[]
  focus?: boolean
}) {
  const [land, setLand] = useState<GeoPermissibleObjects>()
  const [zoom, setZoom] = useState(focus ? 4 : 0)
  useEffect(() => {
    fetch(countriesUrl)
      .then((response) => response.json())
      .then((topology) => setLand(feature(topology, topology.objects.countries) as GeoPermissibleObjects))
      .catch(() => undefined)
  }, [])
  const placed = devices.filter(isPlaced)
  const { outline, borders, lines, projection } = useMemo(() => {
    const made = geoEqualEarth().fitExtent(
      [
        [4, 4],
        [width - 4, height - 4],
      ],
      { type: 'Sphere' },
    )
    const path = geoPath(made)
    return {
      projection: made,
      outline: path({ type: 'Sphere' }) ?? '',
      lines: path(geoGraticule10()) ?? '',
      borders: (land && path(land)) ?? '',
    }
  }, [land])
  const points = placed.map((device) => {
    const [x = 0, y = 0] = projection([device.fix.longitude, device.fix.latitude]) ?? []
    return { device, x, y }
  })
  const scale = zooms[zoom] ?? 1
  const center = points.length === 0 || scale === 1 ? { x: width / 2, y: height / 2 } : middleOf(points)
  const box = `${center.x - width / scale / 2} ${center.y - height / scale / 2} ${width / scale} ${height / scale}`
  const words = placed.map(
    ({ name, fix }) => `${name} at ${fix.latitude.toFixed(2)}, ${fix.longitude.toFixed(2)}`,
  )
  return (
    <figure class="map">
      <svg viewBox={box} role="img" aria-label={`Map. ${words.join('; ') || 'No device has a place.'}`}>
        <path class="sea" d={outline} />
        <path class="lines" d={lines} vector-effect="non-scaling-stroke" />
        <path class="land" d={borders} vector-effect="non-scaling-stroke" />
        {points.map(({ device, x, y }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the mouse; the list below has the links.
          <g
            key={device.nodeId}
            class={`pin ${device.state}`}
            data-node={device.nodeId}
            style={{ transform: `translate(${x}px, ${y}px)` }}
            onClick={() => navigate(`/devices/${device.nodeId}`)}
          >
            {/* Dots of the same size on the screen, however far the map is zoomed in. */}
            <path d="M0 0h.0001" class="halo" vector-effect="non-scaling-stroke" />
            <path d="M0 0h.0001" class="dot" vector-effect="non-scaling-stroke" />
            <title>{`${device.name}, ${device.state}`}</title>
          </g>
        ))}
      </svg>
      <figcaption>
        <button
          type="button"
          aria-label="Closer"
          disabled={zoom === zooms.length - 1}
          onClick={() => setZoom(zoom + 1)}
        >
          +
        </button>
        <button type="button" aria-label="Farther" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
          −
        </button>
      </figcaption>
    </figure>
  )
}

function middleOf(points: readonly { x: number; y: number }[]): { x: number; y: number } {
  const xs = points.map((each) => each.x)
  const ys = points.map((each) => each.y)
  return { x: (Math.min(...xs) + Math.max(...xs)) / 2, y: (Math.min(...ys) + Math.max(...ys)) / 2 }
}
