import type { Device } from '@selvedge/protocol/console'
import { Copy, CopyId } from '../../parts/copy.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { Time } from '../../parts/time.tsx'
import { Card, Empty } from '../../parts/view.tsx'
import type { MapPlace } from '../../state/use-places.ts'

/** Bearings in degrees from north, clockwise, in eighths of a circle. */
const headings = ['North', 'Northeast', 'East', 'Southeast', 'South', 'Southwest', 'West', 'Northwest']

export function LastLocation({ device }: { device: Device }) {
  const { fix } = device
  if (!fix)
    return (
      <Card title="Location" flush>
        <Empty icon="map-pin" title="No location yet" text="A program on the device reports it.">
          <Copy
            isCommand
            label="Command that reports a location"
            text="npx selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0"
          />
        </Empty>
      </Card>
    )
  const { latitude, longitude, speed, bearing, fixedAt } = fix
  return (
    <Card title="Location" flush>
      <LazyMap devices={[device]} places={placesOf(device)} focus />
      <div class="body">
        <dl class="kv">
          <dt>Coordinates</dt>
          <dd>
            <CopyId text={`${latitude}, ${longitude}`} label="Coordinates" />
          </dd>
          <dt>Heard</dt>
          <dd>
            <Time of={fixedAt} />
          </dd>
          <dt>Speed</dt>
          <dd class="num">{Math.round(speed * 36) / 10} km/h</dd>
          <dt>Heading</dt>
          <dd class="num">{speed === 0 ? '—' : `${headings[Math.round(bearing / 45) % 8]} (${bearing}°)`}</dd>
        </dl>
      </div>
    </Card>
  )
}

const placesOf = ({ nodeId, fix }: Device): MapPlace[] =>
  fix ? [{ nodeId, longitude: fix.longitude, latitude: fix.latitude, heardAt: Date.parse(fix.fixedAt) }] : []
