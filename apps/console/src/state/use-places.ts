import type { AccountPlace } from '@selvedge/protocol'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { signedFetch } from '../session/request.ts'
import type { News } from './use-news.ts'

/** Where a device is, as the map needs it. */
export interface MapPlace {
  readonly nodeId: string
  longitude: number
  latitude: number
  /** Milliseconds. */
  heardAt: number
}

/** Milliseconds between two renderings of moved devices, and between two full loads of a large fleet. */
const drawIntervalMs = 500
const loadIntervalMs = 300_000

/**
 * The places of all devices of the account. Hundreds of thousands are changed where they are, and shown a few times a second:
 * `all` is another list whenever there is something new to see.
 */
export function usePlaces(): {
  all: readonly MapPlace[] | undefined
  take(news: News): void
  look(): void
} {
  const known = useRef(new Map<string, MapPlace>())
  const [all, setAll] = useState<readonly MapPlace[]>()
  const lookedAt = useRef(Number.NEGATIVE_INFINITY)
  const isChanged = useRef(false)

  const look = useCallback(async () => {
    const pauseMs = known.current.size > 1000 ? loadIntervalMs : 0
    if (performance.now() - lookedAt.current < pauseMs) return
    lookedAt.current = performance.now()
    const response = await signedFetch('/console/places').catch(() => undefined)
    if (!response?.ok) {
      lookedAt.current = Number.NEGATIVE_INFINITY
      return
    }
    const places = (await response.json()) as AccountPlace[]
    known.current = new Map(
      places.map(([nodeId, longitude, latitude, second]) => [
        nodeId,
        { nodeId, longitude, latitude, heardAt: second * 1000 },
      ]),
    )
    isChanged.current = false
    setAll([...known.current.values()])
  }, [])

  const take = useCallback(({ fixes = [], isOwn }: News) => {
    if (isOwn === false) lookedAt.current = Number.NEGATIVE_INFINITY
    for (const { nodeId, longitude, latitude, fixedAt } of fixes) {
      // A new object, so that a cache of screen positions sees that the device moved.
      known.current.set(nodeId, { nodeId, longitude, latitude, heardAt: Date.parse(fixedAt) })
      isChanged.current = true
    }
  }, [])

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
