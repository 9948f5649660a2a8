import type { Device } from '@selvedge/protocol/console'
import { Link } from '../../parts/link.tsx'
import { Time } from '../../parts/time.tsx'
import { Card, View } from '../../parts/view.tsx'
import { useDevice } from '../../state/use-devices.ts'
import { useHome } from '../../state/viewer.ts'
import { DeviceAccess } from './access.tsx'
import { LastLocation } from './last-location.tsx'
import { Microservices } from './microservices.tsx'

export function DeviceView({ nodeId }: { nodeId: string }) {
  const { device, error, reload } = useDevice(nodeId)
  if (!device)
    return (
      <View title="Device" error={error}>
        <Link to="/devices">All devices</Link>
      </View>
    )
  return (
    <View title={device.name} error={error}>
      <DeviceState device={device} />
      <LastLocation device={device} />
      <Microservices services={device.services} />
      <DeviceAccess device={device} onChanged={reload} />
    </View>
  )
}

function DeviceState({ device }: { device: Device }) {
  const { viewer } = useHome()
  return (
    <Card title="State">
      <dl>
        <dt>State</dt>
        <dd>
          <span class={`chip ${device.state}`}>{device.state}</span> last seen <Time of={device.lastSeenAt} />
        </dd>
        <dt>Node ID</dt>
        <dd>
          <code>{device.nodeId}</code>
        </dd>
        <dt>Account</dt>
        <dd>{viewer.accounts.find((each) => each.accountId === viewer.accountId)?.name}</dd>
        <dt>Version</dt>
        <dd>{device.version || 'unknown'}</dd>
        <dt>Enrolled</dt>
        <dd>
          <Time of={device.enrolledAt} />
        </dd>
      </dl>
    </Card>
  )
}
