import { useEffect, useState } from 'preact/hooks'
import type { WorldMapProps } from './map/world-map.tsx'
import './lazy-map.css'

type WorldMap = typeof import('./map/world-map.tsx').default

/** The map, once its code is there: no other part of the page waits for it. */
export function LazyMap(props: WorldMapProps) {
  const [loaded, setLoaded] = useState<{ WorldMap: WorldMap }>()
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    import('./map/world-map.tsx').then(
      ({ default: WorldMap }) => setLoaded({ WorldMap }),
      () => setLost(true),
    )
  }, [])
  if (loaded) return <loaded.WorldMap {...props} />
  return (
    <div class={`map ${props.focus ? 'near' : ''}`}>
      {isLost && (
        <div class="over" role="status">
          <span class="badge warn">The map could not be loaded</span>
        </div>
      )}
    </div>
  )
}
