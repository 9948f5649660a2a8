import { Copy } from '../parts/copy.tsx'
import { LazyMap } from '../parts/lazy-map.tsx'
import { Link } from '../parts/link.tsx'
import { Time } from '../parts/time.tsx'
import { Empty, Scroll, View } from '../parts/view.tsx'
import { useDevices } from '../state/use-devices.ts'

export function DevicesView() {
  const { devices, hasPlaces, error, isLive } = useDevices()
  return (
    <View title="Devices" error={error}>
      {devices?.length === 0 && (
        <Empty>
          <p>
            No device belongs to this account yet. On a device that runs Selvedge, sign in and associate it;
            it shows up here without a reload.
          </p>
          <Copy
            label="Commands that associate a device"
            text={'npx selvedge login\nnpx selvedge account associate'}
          />
          <p>
            Without the command line, a <Link to="/projects">project</Link> shows the same as curl lines.
          </p>
        </Empty>
      )}
      {devices && devices.length > 0 && (
        <>
          {hasPlaces === false && (
            <p class="notice">
              The discovery service does not answer, so places are missing. Check that it runs:{' '}
              <code>selvedge status</code>
            </p>
          )}
          <LazyMap devices={devices} />
          <p class="live" role="status">
            <span class={`chip ${isLive ? 'online' : 'away'}`}>{isLive ? 'live' : 'connecting …'}</span>
          </p>
          <div class="card">
            <Scroll label="Devices of the account">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>State</th>
                    <th>Seen</th>
                    <th>Version</th>
                    <th>Services</th>
                    <th>Place</th>
                  </tr>
                </thead>
                <tbody>
                  {devices.map(({ nodeId, name, state, lastSeenAt, version, services, fix }) => (
                    <tr key={nodeId} data-node={nodeId}>
                      <td>
                        <Link to={`/devices/${nodeId}`}>{name}</Link>
                        <br />
                        <code class="short">{nodeId}</code>
                      </td>
                      <td>
                        <span class={`chip ${state}`}>{state}</span>
                      </td>
                      <td>
                        <Time of={lastSeenAt} />
                      </td>
                      <td>{version || 'unknown'}</td>
                      <td>{services.length}</td>
                      <td>{fix ? `${fix.latitude.toFixed(4)}, ${fix.longitude.toFixed(4)}` : 'unknown'}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          </div>
        </>
      )}
    </View>
  )
}
