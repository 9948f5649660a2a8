/** Which part of the world the map shows: all devices, until a person moves it. */
import { LngLat, type Map as MapLibre } from 'maplibre-gl'
import { boundsOf, holds } from './bounds.ts'
import type { Box } from './clusters.ts'
import { type Fleet, latitudeOf, longitudeOf, mercatorY } from './fleet.ts'

export interface Camera {
  /** Shows a fleet, and keeps it in view as it moves. */
  follow(fleet: Fleet): void
  /** Shows all devices, and follows them again. */
  fit(): void
  /** Shows a part of the world that a person chose. */
  approach(part: Box): void
  zoomBy(steps: number): void
  /** How close the map comes to devices by itself. */
  setMaxFitZoom(zoom: number): void
}

/** Pixels of the world, which is a square. */
export const worldPxAt = (zoom: number): number => 512 * 2 ** zoom

/** Zoom of 512 px tiles: a street. */
export const maxZoom = 18
/** All of the world on a small phone. */
const minZoom = -2
/** Cities: the outlines of 1:50m have nothing more to show. */
const maxFitZoom = 6.5
const paddingPx = 36
/** Above this part of the world, all of it is the better picture. */
const almostAll = 0.9
/** Without devices: the continents. */
const inhabited: Box = { left: 0.03, right: 0.97, top: mercatorY(72), bottom: mercatorY(-52) }

export function createCamera(map: MapLibre): Camera {
  let bounds: Box | undefined
  let isFollowing = true
  let closest = maxFitZoom

  function show(part: Box, most: number, animate: boolean): void {
    const { width, height } = map.getContainer().getBoundingClientRect()
    const [left, right] = part.right - part.left > almostAll ? [0, 1] : [part.left, part.right]
    map.fitBounds([longitudeOf(left), latitudeOf(part.bottom), longitudeOf(right), latitudeOf(part.top)], {
      padding: Math.min(paddingPx, width / 5, height / 5),
      maxZoom: most,
      animate,
    })
  }
  const fit = (animate: boolean) => show(bounds ?? inhabited, closest, animate)
  const isHeld = () => {
    const view = map.getBounds()
    const [left, right] = [(view.getWest() + 180) / 360, (view.getEast() + 180) / 360]
    const seen = { left, right, top: mercatorY(view.getNorth()), bottom: mercatorY(view.getSouth()) }
    return bounds !== undefined && holds(seen, bounds)
  }

  fit(false)
  map.on('resize', () => isFollowing && fit(false))
  map.on('movestart', ({ originalEvent }) => {
    if (originalEvent) isFollowing = false
  })
  return {
    follow(fleet) {
      const isFirst = bounds === undefined
      bounds = boundsOf(fleet)
      if (isFollowing && (isFirst || !isHeld())) fit(!isFirst)
    },
    fit() {
      isFollowing = true
      fit(true)
    },
    approach(part) {
      isFollowing = false
      show(part, Math.min(maxZoom, map.getZoom() + 4), true)
    },
    zoomBy(steps) {
      isFollowing = false
      map.zoomTo(map.getZoom() + steps)
    },
    setMaxFitZoom(zoom) {
      closest = zoom
      if (isFollowing) fit(false)
    },
  }
}

/** Where a map may be: no further than the poles, and a world that does not fill it stays in its middle. */
export function constrain(
  { clientWidth, clientHeight }: HTMLElement,
  center: LngLat,
  zoom: number,
): { center: LngLat; zoom: number } {
  const most = Math.min(maxZoom, Math.max(minZoom, zoom))
  const half = Math.min(0.5, clientHeight / 2 / worldPxAt(most))
  const y = Math.min(1 - half, Math.max(half, mercatorY(center.lat)))
  const longitude = worldPxAt(most) < clientWidth ? 0 : center.lng
  return { center: new LngLat(longitude, latitudeOf(y)), zoom: most }
}
