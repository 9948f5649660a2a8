import type { Device } from '@selvedge/protocol/console'
import { useEffect } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, Notice, View } from '../../parts/view.tsx'
import { isFiltered, useDeviceQuery } from '../../state/device-query.ts'
import { useDevices } from '../../state/use-devices.ts'
import { DeviceTable } from './device-table.tsx'
import { ExportMenu } from './export-menu.tsx'
import { Facets } from './facets.tsx'
import { Finder } from './finder.tsx'
import { useSelection } from './selection.ts'

export default function DevicesView() {
  const asked = useDeviceQuery()
  const { query, setPage } = asked
  const all = useDevices(query)
  const { devices, counts, total = 0, pageSize = 1, error } = all
  const pages = Math.max(1, Math.ceil(total / pageSize))
  // A page of a list that has become shorter.
  useEffect(() => {
    if (devices && query.page >= pages) setPage(0)
  }, [devices, query.page, pages])
  const isEmpty = devices?.length === 0 && !isFiltered(query)
  return (
    <View
      title="Devices"
      error={error}
      actions={
        !isEmpty && (
          <>
            <ExportMenu query={query} />
            <ConnectLinks />
          </>
        )
      }
    >
      {!devices && !error && <Bones of="map" />}
      {isEmpty && <NoDevices search={undefined} onClear={asked.clear} />}
      {devices && counts && !isEmpty && (
        <>
          {all.hasPlaces === false && (
            <Notice
              kind="warn"
              icon="map-pin"
              title="Locations are missing"
              text="The discovery service doesn’t answer. Everything else works."
            />
          )}
          <Facets counts={counts} chosen={query.state} onChoose={asked.setState} />
          {all.Strip && all.attention && (
            <all.Strip attention={all.attention} onState={asked.setState} onNeed={asked.setNeed} />
          )}
          <div class={`fleet ${all.attention?.total === 1 ? 'one' : ''}`}>
            <LazyMap
              devices={devices}
              places={all.places ?? []}
              atMs={Date.parse(all.at ?? '')}
              isLive={all.isLive}
            />
            <DeviceList
              asked={asked}
              devices={devices}
              total={total}
              pages={pages}
              pageSize={pageSize}
              onChanged={all.reload}
            />
          </div>
        </>
      )}
    </View>
  )
}

function DeviceList(props: {
  asked: ReturnType<typeof useDeviceQuery>
  devices: readonly Device[]
  total: number
  pages: number
  pageSize: number
  onChanged: () => Promise<void>
}) {
  const { asked, devices, total, pages, pageSize, onChanged } = props
  const { query } = asked
  const { page } = query
  const selection = useSelection(query)
  return (
    <>
      <section class="card" aria-label="Devices of the account">
        <Finder query={query} onSearch={asked.setSearch} onFilter={asked.setFilters} total={total} />
        {devices.length > 0 ? (
          <DeviceTable devices={devices} query={query} onSort={asked.sortBy} selection={selection} />
        ) : (
          <NoDevices search={query.search} onClear={asked.clear} />
        )}
        {pages > 1 && (
          <Pager
            first={page * pageSize + 1}
            last={Math.min(total, (page + 1) * pageSize)}
            total={total}
            page={page}
            pages={pages}
            onPage={asked.setPage}
          />
        )}
      </section>
      {selection.chosen.size > 0 && (
        <BulkBar selection={selection} query={query} total={total} onChanged={onChanged} />
      )}
    </>
  )
}

/** Loaded where there is no device, or more than a page of them. */
const NoDevices = lazyView(() => import('./no-devices.tsx'))
const Pager = lazyView(() => import('./pager.tsx'))

/** Loaded with the first selected device. */
const BulkBar = lazyView(() => import('./bulk-bar.tsx'))

const ConnectLinks = () => (
  <>
    <Link to="/devices/join-keys" class="btn">
      Join keys
    </Link>
    <Link to="/projects" class="btn primary">
      <Icon name="plus" />
      Connect a device
    </Link>
  </>
)
