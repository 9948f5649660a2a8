/** Which part of the world a map shows. */
import type { MapPlace } from '../../state/use-places.ts'
import type { Point } from './clusters.ts'
import { pointOf, worldHeight, worldWidth } from './projection.ts'

export interface MapView {
  readonly center: Point
  /** 1: the width of the window is the width of the world. */
  readonly scale: number
}

/** Pixels of the window of the map. */
export interface MapSize {
  readonly width: number
  readonly height: number
}

export interface Box extends Point {
  readonly width: number
  readonly height: number
}

const scales = { least: 0.5, most: 4096 } as const
/** Most scale of a map that shows all of a fleet: a single device is shown with its surroundings. */
const mostFitScale = 24
/** Part of the window that stays free around a fleet. */
const margin = 1.3

const clamp = (scale: number, most: number = scales.most): number =>
  Math.min(most, Math.max(scales.least, scale))

export const wholeWorld: MapView = { center: { x: worldWidth / 2, y: worldHeight / 2 }, scale: 1 }

/** The view that shows all places; of none, the world. */
export function fit(places: readonly MapPlace[], size: MapSize): MapView {
  if (places.length === 0) return wholeWorld
  const least = { x: Number.POSITIVE_INFINITY, y: Number.POSITIVE_INFINITY }
  const most = { x: Number.NEGATIVE_INFINITY, y: Number.NEGATIVE_INFINITY }
  for (const place of places) {
    const { x, y } = pointOf(place)
    least.x = Math.min(least.x, x)
    least.y = Math.min(least.y, y)
    most.x = Math.max(most.x, x)
    most.y = Math.max(most.y, y)
  }
  const neededWidth = Math.max(most.x - least.x, ((most.y - least.y) * size.width) / size.height) * margin
  return {
    center: { x: (least.x + most.x) / 2, y: (least.y + most.y) / 2 },
    scale: clamp(worldWidth / Math.max(neededWidth, Number.MIN_VALUE), mostFitScale),
  }
}

/** @param factor above 1: closer */
export const zoomed = ({ center, scale }: MapView, factor: number, to: Point = center): MapView => ({
  center: to,
  scale: clamp(scale * factor),
})

export const canZoom = ({ scale }: MapView) => ({ in: scale < scales.most, out: scale > scales.least })

export function boxOf({ center, scale }: MapView, size: MapSize): Box {
  const width = worldWidth / scale
  const height = (width * size.height) / size.width
  return { x: center.x - width / 2, y: center.y - height / 2, width, height }
}

export const holds = ({ x, y, width, height }: Box, places: readonly MapPlace[]): boolean =>
  places.every((place) => {
    const at = pointOf(place)
    return at.x >= x && at.y >= y && at.x <= x + width && at.y <= y + height
  })
