import type { Device } from '@selvedge/protocol/console'
import { useMemo } from 'preact/hooks'
import { api } from '../../api.ts'
import { Copy, CopyId } from '../../parts/copy.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import type { Trail } from '../../parts/map/trail.ts'
import { Time } from '../../parts/time.tsx'
import { Card, Empty } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'
import type { MapPlace } from '../../state/use-places.ts'

/** Bearings in degrees from north, clockwise, in eighths of a circle. */
const headings = ['North', 'Northeast', 'East', 'Southeast', 'South', 'Southwest', 'West', 'Northwest']

export function LastLocation({ device }: { device: Device }) {
  const { fix } = device
  const { trail, until } = useTrail(device)
  if (!fix)
    return (
      <Card title="Location" flush>
        <Empty icon="map-pin" title="No location yet" text="A program on the device reports it.">
          <Copy
            isCommand
            label="Command that reports a location"
            text="selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0"
          />
        </Empty>
      </Card>
    )
  const { latitude, longitude, speed, bearing, fixedAt } = fix
  return (
    <Card title="Location" flush>
      <LazyMap devices={[device]} places={placesOf(device)} trail={trail} focus />
      <div class="body">
        <dl class="kv">
          <dt>Coordinates</dt>
          <dd>
            <CopyId text={`${latitude}, ${longitude}`} label="Coordinates" />
          </dd>
          <dt>Reported</dt>
          <dd>
            <Time of={fixedAt} />
          </dd>
          {until && (
            <>
              <dt>Trail</dt>
              <dd>
                Ends <Time of={until} />
              </dd>
            </>
          )}
          <dt>Speed</dt>
          <dd class="num">{Math.round(speed * 36) / 10} km/h</dd>
          <dt>Heading</dt>
          <dd class="num">{speed === 0 ? '—' : `${headings[Math.round(bearing / 45) % 8]} (${bearing}°)`}</dd>
        </dl>
      </div>
    </Card>
  )
}

/** The stored way of the device up to its last location; empty unless its owner has it stored. */
function useTrail({ nodeId, fix }: Device): { trail: Trail; until: string | null | undefined } {
  const { data } = useCall(() => api['device.track']({ nodeId }), [nodeId])
  const trail = useMemo(() => {
    const points: Trail = (data?.points ?? []).map(([longitude, latitude]) => [longitude, latitude])
    return points.length > 0 && fix ? [...points, [fix.longitude, fix.latitude] as const] : points
  }, [data, fix])
  return { trail, until: data?.until }
}

const placesOf = ({ nodeId, fix }: Device): MapPlace[] =>
  fix ? [{ nodeId, longitude: fix.longitude, latitude: fix.latitude, onlineUntil: 0 }] : []
