import type { Device } from '@selvedge/protocol/console'
import { Copy } from '../../parts/copy.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { Time } from '../../parts/time.tsx'
import { Card, Empty } from '../../parts/view.tsx'
import type { MapPlace } from '../../state/use-places.ts'

export function LastLocation({ device }: { device: Device }) {
  const { fix } = device
  return (
    <Card title="Last location">
      {fix ? (
        <>
          <LazyMap devices={[device]} places={placesOf(device)} focus />
          <dl>
            <dt>Latitude, longitude</dt>
            <dd>
              {fix.latitude}, {fix.longitude} <small class="hint">as the device reported it</small>
            </dd>
            <dt>Time</dt>
            <dd>
              <Time of={fix.fixedAt} />
            </dd>
            <dt>Speed and bearing</dt>
            <dd>
              {fix.speed} m/s, {fix.bearing}°
            </dd>
          </dl>
        </>
      ) : (
        <Empty>
          <p>The device has not reported its location. A program on the device can report it:</p>
          <Copy
            label="Command that reports a location"
            text="npx selvedge gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0"
          />
        </Empty>
      )}
    </Card>
  )
}

const placesOf = ({ nodeId, fix }: Device): MapPlace[] =>
  fix ? [{ nodeId, longitude: fix.longitude, latitude: fix.latitude, heardAt: Date.parse(fix.fixedAt) }] : []
