import { useEffect } from 'preact/hooks'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { LazyMap } from '../../parts/lazy-map.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, Card, Empty, Notice, View } from '../../parts/view.tsx'
import { useQuery } from '../../state/route.ts'
import { useDevices } from '../../state/use-devices.ts'
import { DeviceTable } from './device-table.tsx'
import { Finder, Pager } from './finder.tsx'

export default function DevicesView() {
  const [query, change] = useQuery()
  const search = query.get('search')?.slice(0, 64) ?? ''
  const page = Math.max(0, Math.trunc(Number(query.get('page') ?? 1)) - 1 || 0)
  const { devices, places, total = 0, pageSize = 1, hasPlaces, error, isLive } = useDevices(page, search)
  const pages = Math.max(1, Math.ceil(total / pageSize))
  // A page of a list that has become shorter.
  useEffect(() => {
    if (devices && page >= pages) change({ page: '' })
  }, [devices, page, pages])
  const isEmpty = devices?.length === 0 && search === ''
  return (
    <View title="Devices" error={error} actions={!isEmpty && <ConnectLink />}>
      {!devices && !error && <Bones />}
      {isEmpty && <NoDevices />}
      {devices && !isEmpty && (
        <>
          {hasPlaces === false && (
            <Notice
              kind="warn"
              icon="map-pin"
              title="Locations are missing"
              text="The discovery service doesn’t answer. Everything else works."
            />
          )}
          <LazyMap devices={devices} places={places ?? []} isLive={isLive} />
          <section class="card" aria-label="Devices of the account">
            <Finder search={search} onSearch={(text) => change({ search: text, page: '' })} total={total} />
            {devices.length > 0 ? (
              <DeviceTable devices={devices} />
            ) : (
              <Empty
                icon="search"
                title={`No device matches “${search}”`}
                text="Search looks at names and node IDs."
              >
                <button type="button" class="btn" onClick={() => change({ search: '', page: '' })}>
                  Clear search
                </button>
              </Empty>
            )}
            {pages > 1 && (
              <Pager
                first={page * pageSize + 1}
                last={Math.min(total, (page + 1) * pageSize)}
                total={total}
                page={page}
                pages={pages}
                onPage={(to) => change({ page: to === 0 ? '' : String(to + 1) })}
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
