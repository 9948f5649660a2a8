import type { Device } from '@selvedge/protocol/console'
import { useEffect, useState } from 'preact/hooks'

type WorldMap = typeof import('./map.tsx').default

/** The map, once its code is there: no other view waits for it. */
export function LazyMap(props: { devices: readonly Device[]; focus?: boolean }) {
  const [loaded, setLoaded] = useState<{ WorldMap: WorldMap }>()
  useEffect(() => {
    import('./map.tsx').then(
      ({ default: WorldMap }) => setLoaded({ WorldMap }),
      () => undefined,
    )
  }, [])
  return loaded ? <loaded.WorldMap {...props} /> : <div class="map placeholder" />
}
