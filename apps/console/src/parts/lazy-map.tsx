import { useEffect, useState } from 'preact/hooks'
import type { WorldMapProps } from './map.tsx'

type WorldMap = typeof import('./map.tsx').default

/** The map, once its code is there: no other view waits for it. */
export function LazyMap(props: WorldMapProps) {
  const [loaded, setLoaded] = useState<{ WorldMap: WorldMap }>()
  useEffect(() => {
    import('./map.tsx').then(
      ({ default: WorldMap }) => setLoaded({ WorldMap }),
      () => undefined,
    )
  }, [])
  return loaded ? <loaded.WorldMap {...props} /> : <div class="map placeholder" />
}
