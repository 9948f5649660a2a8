import { useEffect } from 'preact/hooks'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, Card, Empty, Notice, View } from '../../parts/view.tsx'
import { useDeviceQuery } from '../../state/device-query.ts'
import { useDevices } from '../../state/use-devices.ts'
import { DeviceTable } from './device-table.tsx'
import { Facets } from './facets.tsx'
import { Finder, Pager } from './finder.tsx'

export default function DevicesView() {
  const asked = useDeviceQuery()
  const { query, setPage, setSearch, setState, clearTag, sortBy } = asked
  const { devices, places, counts, total = 0, pageSize = 1, hasPlaces, error, isLive } = useDevices(query)
  const { page, search, state, tag } = query
  const pages = Math.max(1, Math.ceil(total / pageSize))
  // A page of a list that has become shorter.
  useEffect(() => {
    if (devices && page >= pages) setPage(0)
  }, [devices, page, pages])
  const isEmpty = devices?.length === 0 && search === '' && state === undefined && tag === undefined
  return (
    <View title="Devices" error={error} actions={!isEmpty && <ConnectLink />}>
      {!devices && !error && <Bones />}
      {isEmpty && <NoDevices />}
      {devices && counts && !isEmpty && (
        <>
          {hasPlaces === false && (
            <Notice
              kind="warn"
              icon="map-pin"
              title="Locations are missing"
              text="The discovery service doesn’t answer. Everything else works."
            />
          )}
          <Facets counts={counts} chosen={state} onChoose={setState} />
          <LazyMap devices={devices} places={places ?? []} isLive={isLive} />
          <section class="card" aria-label="Devices of the account">
            <Finder search={search} onSearch={setSearch} total={total} tag={tag} onClearTag={clearTag} />
            {devices.length > 0 ? (
              <DeviceTable devices={devices} query={query} onSort={sortBy} />
            ) : (
              <NoMatch
                search={search}
                onClear={() =>
                  search !== '' ? setSearch('') : tag !== undefined ? clearTag() : setState('')
                }
              />
            )}
            {pages > 1 && (
              <Pager
                first={page * pageSize + 1}
                last={Math.min(total, (page + 1) * pageSize)}
                total={total}
                page={page}
                pages={pages}
                onPage={setPage}
              />
            )}
          </section>
        </>
      )}
    </View>
  )
}

const ConnectLink = () => (
  <Link to="/projects" class="btn primary">
    <Icon name="plus" />
    Connect a device
  </Link>
)

const NoDevices = () => (
  <Card>
    <Empty icon="cpu" title="No devices yet" text="Run this on a device. It shows up here by itself.">
      <Copy
        isCommand
        label="Commands that connect a device"
        text={'npx selvedge login\nnpx selvedge account associate'}
      />
      <Link to="/projects">Other ways to connect</Link>
    </Empty>
  </Card>
)

const NoMatch = ({ search, onClear }: { search: string; onClear: () => void }) => (
  <Empty
    icon="search"
    title={search === '' ? 'No device matches' : `No device matches “${search}”`}
    text="Search looks at names, tags and node IDs."
  >
    <button type="button" class="btn" onClick={onClear}>
      {search === '' ? 'Show all devices' : 'Clear search'}
    </button>
  </Empty>
)
