import type { Device } from '@selvedge/protocol/console'
import { useEffect } from 'preact/hooks'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, Card, Empty, Notice, View } from '../../parts/view.tsx'
import { isFiltered, useDeviceQuery } from '../../state/device-query.ts'
import { useDevices } from '../../state/use-devices.ts'
import { DeviceTable } from './device-table.tsx'
import { ExportMenu } from './export-menu.tsx'
import { Facets } from './facets.tsx'
import { Finder } from './finder.tsx'
import { Pager } from './pager.tsx'
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
            <ConnectLink />
          </>
        )
      }
    >
      {!devices && !error && <Bones />}
      {isEmpty && <NoDevices />}
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
          <LazyMap devices={devices} places={all.places ?? []} isLive={all.isLive} />
          <DeviceList
            asked={asked}
            devices={devices}
            total={total}
            pages={pages}
            pageSize={pageSize}
            onChanged={all.reload}
          />
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
          <NoMatch search={query.search} onClear={asked.clear} />
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

/** Loaded with the first selected device. */
const BulkBar = lazyView(() => import('./bulk-bar.tsx'))

const ConnectLink = () => (
  <Link to="/projects" class="btn primary">
    <Icon name="plus" />
    Connect a device
  </Link>
)

const NoDevices = () => (
  <Card>
    <Empty icon="cpu" title="No devices yet" text="Run this on a device. It shows up here by itself.">
      <Copy isCommand label="Command that connects a device" text="selvedge up" />
      <Link to="/projects">Other ways to connect</Link>
    </Empty>
  </Card>
)

const NoMatch = ({ search, onClear }: { search: string; onClear: () => void }) => (
  <Empty
    icon="search"
    title={search === '' ? 'No device matches' : `No device matches “${search}”`}
    text="Search finds names, tags and node IDs."
  >
    <button type="button" class="btn" onClick={onClear}>
      Show all devices
    </button>
  </Empty>
)
