import type { Device } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy.tsx'
import { LazyMap } from '../parts/lazy-map.tsx'
import { Link } from '../parts/link.tsx'
import { Time } from '../parts/time.tsx'
import { Empty, Scroll, View } from '../parts/view.tsx'
import { useDevices } from '../state/use-devices.ts'

export function DevicesView() {
  const [page, setPage] = useState(0)
  const [search, setSearch] = useState('')
  const { devices, places, total = 0, pageSize = 1, hasPlaces, error, isLive } = useDevices(page, search)
  const isEmpty = devices?.length === 0 && search === ''
  return (
    <View title="Devices" error={error}>
      {isEmpty && <NoDevices />}
      {devices && !isEmpty && (
        <>
          {hasPlaces === false && (
            <p class="notice">
              The discovery service does not answer, so locations are missing. Check that it is running:{' '}
              <code>selvedge status</code>
            </p>
          )}
          <LazyMap devices={devices} places={places ?? []} />
          <p class="live" role="status">
            <span class={`chip ${isLive ? 'online' : 'away'}`}>{isLive ? 'live' : 'connecting …'}</span>
          </p>
          <div class="card">
            {(total > pageSize || search !== '') && (
              <DeviceFinder
                search={search}
                onSearch={(text) => {
                  setSearch(text)
                  setPage(0)
                }}
                total={total}
                page={page}
                pages={Math.max(1, Math.ceil(total / pageSize))}
                onPage={setPage}
              />
            )}
            <DeviceTable devices={devices} />
          </div>
        </>
      )}
    </View>
  )
}

function NoDevices() {
  return (
    <Empty>
      <p>
        This account has no device yet. On a device that runs Selvedge, sign in and associate it. It appears
        here without a reload.
      </p>
      <Copy
        label="Commands that associate a device"
        text={'npx selvedge login\nnpx selvedge account associate'}
      />
      <p>
        Without the command line, a <Link to="/projects">project</Link> shows the same as curl commands.
      </p>
    </Empty>
  )
}

/** A search field, and buttons for pages of devices. Pages are counted from 0. */
function DeviceFinder(props: {
  search: string
  onSearch: (text: string) => void
  total: number
  page: number
  pages: number
  onPage: (page: number) => void
}) {
  const { search, onSearch, total, page, pages, onPage } = props
  return (
    <div class="find">
      <label>
        Find a device{' '}
        <input
          type="search"
          placeholder="name or node ID"
          maxLength={64}
          value={search}
          onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        />
      </label>
      <span role="status">{total === 1 ? '1 device' : `${total} devices`}</span>
      <button type="button" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span>
        page {page + 1} of {pages}
      </span>
      <button type="button" disabled={page + 1 >= pages} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </div>
  )
}

function DeviceTable({ devices }: { devices: readonly Device[] }) {
  return (
    <Scroll label="Devices of the account">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>Last seen</th>
            <th>Version</th>
            <th>Services</th>
            <th>Location</th>
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
  )
}
