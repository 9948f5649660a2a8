import type { Device } from '@selvedge/protocol/console'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { signedFetch } from '../session/request.ts'
import type { News } from './use-news.ts'

/** Where a device is, as the map needs it. */
export interface MapPlace {
  readonly nodeId: string
  readonly longitude: number
  readonly latitude: number
  /** Unix second until which it is online unless it is seen again; -1 for a blocked one. */
  readonly onlineUntil: number
}

/** Node ID, longitude, latitude, the Unix second of its last report, and until when the device is online. */
type SelectedPlace = readonly [string, number, number, number, number]

/** Milliseconds between two renderings of moved devices, and between two full loads of a large fleet. */
const drawIntervalMs = 500
const loadIntervalMs = 300_000

/**
 * The places of the devices that a filter selects. Hundreds of thousands are changed where they are, and shown a few times a second:
 * `all` is another list whenever there is something new to see.
 *
 * @param selection query of the filter; "" for all devices
 */
export function usePlaces(selection: string): {
  all: readonly MapPlace[] | undefined
  /** @param onlineSeconds for which a device is online after it was last seen */
  take(news: News, onlineSeconds: number): void
  look(): void
} {
  const known = useRef(new Map<string, MapPlace>())
  const [all, setAll] = useState<readonly MapPlace[]>()
  const lookedAt = useRef(Number.NEGATIVE_INFINITY)
  const isChanged = useRef(false)
  const loading = useRef<string | undefined>(undefined)
  const asked = useRef(selection)

  const look = useCallback(async () => {
    const pauseMs = known.current.size > 1000 ? loadIntervalMs : 0
    // The stream of news opens while the first load is under way.
    if (loading.current === selection || performance.now() - lookedAt.current < pauseMs) return
    loading.current = selection
    lookedAt.current = performance.now()
    asked.current = selection
    const places = await load(selection)
    if (asked.current !== selection) return
    loading.current = undefined
    if (!places) {
      lookedAt.current = Number.NEGATIVE_INFINITY
      return
    }
    known.current = new Map(places.map((each) => [each.nodeId, each]))
    isChanged.current = false
    setAll(places)
  }, [selection])

  useEffect(() => {
    lookedAt.current = Number.NEGATIVE_INFINITY
    void look()
  }, [look])

  const take = useCallback(
    ({ device, fixes = [], isOwn }: News, onlineSeconds: number) => {
      if (isOwn === false) lookedAt.current = Number.NEGATIVE_INFINITY
      // A new object, so that a cache of screen positions sees that the device moved.
      const place = device && known.current.get(device.nodeId)
      if (place) known.current.set(place.nodeId, { ...place, onlineUntil: untilOf(device, onlineSeconds) })
      isChanged.current ||= place !== undefined
      for (const { nodeId, longitude, latitude } of fixes) {
        const before = known.current.get(nodeId)
        // Whether a filter selects a device that was not there is for the service to say.
        if (!before && selection !== '') continue
        const onlineUntil = before?.onlineUntil ?? 0
        known.current.set(nodeId, { nodeId, longitude, latitude, onlineUntil })
        isChanged.current = true
        if (!before) lookedAt.current = Number.NEGATIVE_INFINITY
      }
    },
    [selection],
  )

  useEffect(() => {
    const timer = setInterval(() => {
      if (!isChanged.current) return
      isChanged.current = false
      setAll([...known.current.values()])
    }, drawIntervalMs)
    return () => clearInterval(timer)
  }, [])

  return { all, take, look: () => void look() }
}

async function load(selection: string): Promise<MapPlace[] | undefined> {
  const response = await signedFetch(`/console/places${selection}`).catch(() => undefined)
  const places = response?.ok ? await response.json().catch(() => undefined) : undefined
  if (!Array.isArray(places)) return undefined
  return (places as SelectedPlace[]).map(([nodeId, longitude, latitude, , onlineUntil]) => ({
    ...{ nodeId, longitude, latitude, onlineUntil },
  }))
}

/** @returns the Unix second until which a device is online; -1 for a blocked one */
const untilOf = (
  { state, lastSeenAt }: Pick<Device, 'state' | 'lastSeenAt'>,
  onlineSeconds: number,
): number => (state === 'blocked' ? -1 : Math.floor(Date.parse(lastSeenAt) / 1000 + onlineSeconds))
