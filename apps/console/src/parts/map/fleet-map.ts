/** The map of a fleet in an element of the page: the world, the marks, and what a person does with them. */
import type { Device } from '@selvedge/protocol/console'
import { Map as MapLibre, ScaleControl } from 'maplibre-gl'
import type { MapPlace } from '../../state/use-places.ts'
import { baseStyle, paintBase, showCountries, showTrail } from './base-style.ts'
import { type Camera, constrain, createCamera, maxZoom, worldPxAt } from './camera.ts'
import { fleetOf } from './fleet.ts'
import { createMarkLayer } from './mark-layer.tsx'
import { loadCountries } from './outlines.ts'
import { followTheme, paletteOf } from './palette.ts'
import type { Trail } from './trail.ts'
import { allowWorker } from './worker.ts'

export interface FleetMap {
  readonly map: MapLibre
  readonly camera: Camera
  /** @param trail of the only device @param atMs the moment for which the list of devices is right, in Unix milliseconds */
  show(places: readonly MapPlace[], devices: readonly Device[], trail: Trail, atMs: number): void
  close(): void
}

export interface FleetMapEvents {
  /** The outlines can't be loaded. */
  readonly onMissing: () => void
  /** The browser withdrew the graphics context. */
  readonly onLost: () => void
  readonly onZoom: (can: { in: boolean; out: boolean }) => void
}

/** Milliseconds between two drawings of the marks while the map moves. */
const drawIntervalMs = 80
/** How close the map comes to a trail: its points are exact, also where the outlines have nothing more to show. */
const trailZoom = 14

/** @throws if the browser has no WebGL 2 */
export function openFleetMap(holder: HTMLElement, events: FleetMapEvents): FleetMap {
  allowWorker()
  const map = createMap(holder)
  const camera = createCamera(map)
  const marks = createMarkLayer(map, camera.approach)
  let drawnAt = 0
  let isClosed = false

  map.on('move', () => {
    if (performance.now() - drawnAt < drawIntervalMs) return
    drawnAt = performance.now()
    marks.update()
  })
  map.on('moveend', marks.update)
  map.on('resize', marks.update)
  map.on('zoom', () => events.onZoom({ in: map.getZoom() < maxZoom, out: map.getZoom() > map.getMinZoom() }))
  map.on('webglcontextlost', events.onLost)

  const isReady = new Promise<void>((resolve) => map.once('load', () => resolve()))
  const unfollow = followTheme(() => void isReady.then(() => !isClosed && paintBase(map, paletteOf(holder))))
  const beBusy = () => {
    holder.ariaBusy = 'true'
  }
  const endBusy = () => {
    holder.ariaBusy = null
  }
  beBusy()
  Promise.all([loadCountries(), isReady]).then(
    ([countries]) => {
      if (isClosed) return
      showCountries(map, countries)
      map.on('dataloading', beBusy)
      map.on('idle', endBusy)
    },
    () => {
      if (isClosed) return
      events.onMissing()
      endBusy()
    },
  )

  return {
    map,
    camera,
    show(places, devices, trail, atMs) {
      const known = new Map(devices.map((each) => [each.nodeId, each.state]))
      const fleet = fleetOf(places, known, atMs)
      if (trail.length > 0) camera.setMaxFitZoom(trailZoom)
      camera.follow(trail.length > 0 ? fleetOf([...places, ...placesOf(trail)], known, atMs) : fleet)
      void isReady.then(() => !isClosed && showTrail(map, trail))
      marks.show(fleet, new Map(devices.map((each) => [each.nodeId, each])))
    },
    close() {
      isClosed = true
      unfollow()
      marks.close()
      map.remove()
    },
  }
}

const placesOf = (trail: Trail): MapPlace[] =>
  trail.map(([longitude, latitude]) => ({ nodeId: '', longitude, latitude, onlineUntil: 0 }))

function createMap(holder: HTMLElement): MapLibre {
  const map = new MapLibre({
    container: holder,
    style: baseStyle(paletteOf(holder)),
    center: [0, 20],
    zoom: 0,
    maxZoom,
    maxPitch: 0,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    attributionControl: false,
    transformConstrain: (center, zoom) => constrain(holder, center, zoom),
    // A wheel or a finger on the map moves the page; with Ctrl or two fingers, the map.
    cooperativeGestures: true,
  })
  // Copies of the world have no marks: they are shown only where one of them alone fills the map.
  const showCopies = () => map.setRenderWorldCopies(worldPxAt(map.getZoom()) >= holder.clientWidth)
  showCopies()
  map.on('zoom', showCopies)
  map.on('resize', showCopies)
  map.touchZoomRotate.disableRotation()
  map.keyboard.disableRotation()
  map.addControl(new ScaleControl({ maxWidth: 96 }), 'bottom-left')
  return map
}
