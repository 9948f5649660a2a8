import type { Device } from '@selvedge/protocol/console'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Copy } from '../parts/copy.tsx'
import { LazyMap } from '../parts/lazy-map.tsx'
import { Link } from '../parts/link.tsx'
import { Time } from '../parts/time.tsx'
import { Card, Empty, View } from '../parts/view.tsx'
import { navigate } from '../state/route.ts'
import { useDevice } from '../state/use-devices.ts'
import type { MapPlace } from '../state/use-places.ts'
import { useHome } from '../state/viewer.ts'

export function DeviceView({ nodeId }: { nodeId: string }) {
  const { viewer } = useHome()
  const { device, error, reload } = useDevice(nodeId)
  if (!device)
    return (
      <View title="Device" error={error}>
        <Link to="/devices">All devices</Link>
      </View>
    )
  const { name, state, version, enrolledAt, lastSeenAt, services, fix } = device
  return (
    <View title={name} error={error}>
      <Card title="State">
        <dl>
          <dt>State</dt>
          <dd>
            <span class={`chip ${state}`}>{state}</span> seen <Time of={lastSeenAt} />
          </dd>
          <dt>Node ID</dt>
          <dd>
            <code>{nodeId}</code>
          </dd>
          <dt>Account</dt>
          <dd>{viewer.accounts.find((each) => each.accountId === viewer.accountId)?.name}</dd>
          <dt>Version</dt>
          <dd>{version || 'unknown'}</dd>
          <dt>Enrolled</dt>
          <dd>
            <Time of={enrolledAt} />
          </dd>
        </dl>
      </Card>
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
      <Card title="Microservices">
        {services.length === 0 ? (
          <Empty>
            <p>None yet. On the device:</p>
            <Copy
              label="Commands that start a service"
              text={'npx selvedge init function my-service\nnpx selvedge dev my-service'}
            />
          </Empty>
        ) : (
          <ul class="plain">
            {services.map(({ id, name: service, image, state: how }) => (
              <li key={id}>
                <span>
                  <strong>{service}</strong> of <code>{image}</code>
                </span>
                <span class={`chip ${how === 'running' ? 'online' : how === 'failed' ? 'blocked' : 'away'}`}>
                  {how}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title="Access">
        <p>
          <Action
            question={`Revoke every token for ${name} that was issued until now?`}
            run={async () => {
              await api['device.revoke']({ nodeId })
              await reload()
            }}
          >
            Revoke its tokens
          </Action>{' '}
          <span class="hint">
            Programs that use the device need new tokens; the device refuses old ones within half a minute.
          </span>
        </p>
        {viewer.role === 'owner' && (
          <>
            <p>
              {state === 'blocked' ? (
                <Action
                  run={async () => {
                    await api['device.unblock']({ nodeId })
                    await reload()
                  }}
                >
                  Unblock
                </Action>
              ) : (
                <Action
                  kind="danger"
                  question={`Block ${name}? It gets no more tokens until you unblock it.`}
                  run={async () => {
                    await api['device.block']({ nodeId })
                    await reload()
                  }}
                >
                  Block
                </Action>
              )}{' '}
              <span class="hint">
                For a device that is lost or stolen: its tokens are revoked, and it gets no more.
              </span>
            </p>
            <p>
              <Action
                kind="danger"
                question={`Remove your account from ${name}?`}
                run={async () => {
                  await api['device.disassociate']({ nodeId })
                  navigate('/devices')
                }}
              >
                Disassociate
              </Action>{' '}
              <span class="hint">
                For a device that changes hands: your account is removed from it, and your services stop.
              </span>
            </p>
          </>
        )}
      </Card>
    </View>
  )
}

const placesOf = ({ nodeId, fix }: Device): MapPlace[] =>
  fix ? [{ nodeId, longitude: fix.longitude, latitude: fix.latitude, heardAt: Date.parse(fix.fixedAt) }] : []
