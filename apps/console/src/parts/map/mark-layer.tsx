/**
 * The marks of what the map shows now, as elements of the page over it: they have the page's colours and focus, and are few,
 * because near devices are one mark. They are made here and not by the worker of the map: nothing that a background sends
 * can stop them, and 100,000 devices take a few milliseconds. One mark is in the order of Tab; the arrow keys lead to the others.
 */
import type { Device } from '@selvedge/protocol/console'
import { type Map as MapLibre, Marker } from 'maplibre-gl'
import { render } from 'preact'
import { worldPxAt } from './camera.ts'
import { type Box, type Cluster, clusterFleet } from './clusters.ts'
import { type Fleet, latitudeOf, longitudeOf, mercatorY, states } from './fleet.ts'
import { Crowd, Pin, titleOf } from './marks.tsx'

/** Devices within this many px are one mark. */
const clusterRadiusPx = 44
/** Pixels around the map in which a mark is still shown in part. */
const edgePx = 20

interface Shown {
  readonly marker: Marker
  readonly element: HTMLElement
}

export interface MarkLayer {
  show(fleet: Fleet, devices: ReadonlyMap<string, Device>): void
  /** Draws the marks for the part of the world that is seen. */
  update(): void
  close(): void
}

/** @param approach shows a part of the world, chosen by a person */
export function createMarkLayer(map: MapLibre, approach: (part: Box) => void): MarkLayer {
  const shown = new Map<string, Shown>()
  let fleet: Fleet | undefined
  let devices: ReadonlyMap<string, Device> = new Map()
  /** The mark in the order of Tab. */
  let current: string | undefined

  function place(key: string, cluster: Cluster): void {
    const at: [number, number] = [longitudeOf(cluster.x), latitudeOf(cluster.y)]
    let known = shown.get(key)
    if (!known) {
      const element = document.createElement('div')
      known = { element, marker: new Marker({ element }).setLngLat(at).addTo(map) }
      element.addEventListener('keydown', (event) => moveFocus(event, key))
      shown.set(key, known)
    }
    known.marker.setLngLat(at)
    draw(known.element, cluster)
  }

  function draw(element: HTMLElement, { count, counts, first, extent }: Cluster): void {
    if (count > 1) {
      render(<Crowd count={count} counts={counts} onChoose={() => approach(extent)} />, element)
      return
    }
    const { nodeId } = fleet!.places[first]!
    const state = states[fleet!.states[first]!]!
    render(<Pin nodeId={nodeId} state={state} title={titleOf(devices.get(nodeId), nodeId)} />, element)
  }

  function remove(key: string): void {
    const { marker, element } = shown.get(key)!
    const hadFocus = element.contains(document.activeElement)
    render(null, element)
    marker.remove()
    shown.delete(key)
    if (hadFocus) map.getCanvas().focus({ preventScroll: true })
  }

  const focusable = (key: string | undefined) =>
    key === undefined ? null : (shown.get(key)?.element.querySelector<HTMLElement>('.mark-at') ?? null)

  /** From left to right. */
  const keysInOrder = () =>
    [...shown]
      .toSorted(([, one], [, other]) => one.marker.getLngLat().lng - other.marker.getLngLat().lng)
      .map(([key]) => key)

  function moveFocus(event: KeyboardEvent, key: string): void {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step === undefined) return
    // The arrow keys move the map when the map itself has the focus.
    event.stopPropagation()
    event.preventDefault()
    const keys = keysInOrder()
    current = keys[(keys.indexOf(key) + step + keys.length) % keys.length]
    updateTabOrder()
    focusable(current)?.focus({ preventScroll: true })
  }

  function updateTabOrder(): void {
    if (current === undefined || !shown.has(current)) current = keysInOrder()[0]
    for (const key of shown.keys()) focusable(key)?.setAttribute('tabindex', key === current ? '0' : '-1')
  }

  function update(): void {
    if (!fleet) return
    const { places } = fleet
    const clusters = new Map(
      clusterFleet(fleet, boxOf(map), radiusAt(map.getZoom())).map((each) => [
        each.count === 1 ? places[each.first]!.nodeId : each.key,
        each,
      ]),
    )
    for (const key of [...shown.keys()]) if (!clusters.has(key)) remove(key)
    for (const [key, cluster] of clusters) place(key, cluster)
    updateTabOrder()
  }

  return {
    show(newFleet, newDevices) {
      fleet = newFleet
      devices = newDevices
      update()
    },
    update,
    close() {
      for (const key of [...shown.keys()]) remove(key)
    },
  }
}

/** The same for half a zoom step, so that clusters come apart a few times on the way and not all the time. */
const radiusAt = (zoom: number): number => clusterRadiusPx / worldPxAt(Math.floor(zoom * 2) / 2)

/** What the map shows, and a little more. At most one copy of the world. */
function boxOf(map: MapLibre): Box {
  const view = map.getBounds()
  const edge = edgePx / worldPxAt(map.getZoom())
  const [left, right] = [(view.getWest() + 180) / 360 - edge, (view.getEast() + 180) / 360 + edge]
  const middle = (left + right) / 2
  return {
    left: Math.max(left, middle - 0.5),
    right: Math.min(right, middle + 0.5),
    top: mercatorY(view.getNorth()) - edge,
    bottom: mercatorY(view.getSouth()) + edge,
  }
}
