import { useEffect, useState } from 'preact/hooks'
import type { WorldMapProps } from './map/world-map.tsx'

type WorldMap = typeof import('./map/world-map.tsx').default

/** The map, once its code is there: no other part of the page waits for it. */
export function LazyMap(props: WorldMapProps) {
  const [loaded, setLoaded] = useState<{ WorldMap: WorldMap }>()
  useEffect(() => {
    import('./map/world-map.tsx').then(
      ({ default: WorldMap }) => setLoaded({ WorldMap }),
      () => undefined,
    )
  }, [])
  return loaded ? <loaded.WorldMap {...props} /> : <div class="map" />
}
