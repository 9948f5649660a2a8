import { type Device, describeState } from '@selvedge/protocol/console'
import { Icon } from '../../parts/icon.tsx'
import { Link } from '../../parts/link.tsx'
import { DeviceState } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { Scroll } from '../../parts/view.tsx'

export function DeviceTable({ devices }: { devices: readonly Device[] }) {
  return (
    <Scroll label="Table of devices">
      <table class="table cards-narrow">
        <thead>
          <tr>
            <th>Device</th>
            <th>Status</th>
            <th>Services</th>
            <th>Version</th>
            <th>Last seen</th>
            <th>Location</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <DeviceRow key={device.nodeId} device={device} />
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function DeviceRow({
  device: { nodeId, name, state, lastSeenAt, version, services, fix },
}: {
  device: Device
}) {
  return (
    <tr data-node={nodeId}>
      <td class="main">
        <Link class="name" to={`/devices/${nodeId}`}>
          {name}
        </Link>
        <small class="mono id">{nodeId.slice(0, 12)}</small>
      </td>
      <td>
        <DeviceState state={state} />
      </td>
      <td>
        <ServiceCount services={services} />
      </td>
      <td class="mono">{version || '—'}</td>
      <td class="soft">
        <Time of={lastSeenAt} />
      </td>
      <td class="wide soft num">{fix ? `${fix.latitude.toFixed(4)}, ${fix.longitude.toFixed(4)}` : '—'}</td>
    </tr>
  )
}

function ServiceCount({ services }: Pick<Device, 'services'>) {
  const failed = services.filter(({ state }) => state === 'failed').length
  if (failed > 0)
    return (
      <span class="badge bad">
        <Icon name="triangle-alert" />
        {failed} failed
      </span>
    )
  const serving = services.filter(({ state }) => describeState(state).isServing).length
  if (services.length === 0) return <span class="faint">None</span>
  return <>{serving === services.length ? serving : `${serving} of ${services.length}`} running</>
}
