import { countStates, type Device } from '@selvedge/protocol/console'
import { CopyId } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Link } from '../../parts/link.tsx'
import { DeviceState } from '../../parts/state.tsx'
import { Tags } from '../../parts/tags.tsx'
import { Time } from '../../parts/time.tsx'
import { Scroll } from '../../parts/view.tsx'
import type { DeviceQuery, DeviceSort } from '../../state/device-query.ts'
import { nameOf } from '../../state/presence.ts'
import type { Selection } from './selection.ts'

interface TableProps {
  readonly devices: readonly Device[]
  readonly query: Pick<DeviceQuery, 'sort' | 'descending'>
  readonly onSort: (by: DeviceSort) => void
  readonly selection: Pick<Selection, 'chosen' | 'set'>
}

const columns: readonly (readonly [title: string, sort?: DeviceSort])[] = [
  ['Device', 'name'],
  ['Status'],
  ['Services'],
  ['Version', 'version'],
  ['Last seen', 'seen'],
  ['Location'],
]

export function DeviceTable({ devices, query, onSort, selection }: TableProps) {
  return (
    <Scroll label="Table of devices">
      <table class="table cards-narrow">
        <thead>
          <tr>
            <th class="pick">
              <PickPage devices={devices} selection={selection} />
            </th>
            {columns.map(([title, sort]) => (
              <Heading key={title} title={title} sort={sort} query={query} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <DeviceRow key={device.nodeId} device={device} selection={selection} />
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

/** Selects the whole page, or nothing of it. */
function PickPage({ devices, selection: { chosen, set } }: Pick<TableProps, 'devices' | 'selection'>) {
  const count = devices.filter(({ nodeId }) => chosen.has(nodeId)).length
  const isWhole = count === devices.length
  return (
    <input
      type="checkbox"
      aria-label="Select all devices of this page"
      checked={isWhole}
      indeterminate={count > 0 && !isWhole}
      onChange={() => set(devices, !isWhole)}
    />
  )
}

function Heading(
  props: Pick<TableProps, 'query' | 'onSort'> & { title: string; sort: DeviceSort | undefined },
) {
  const { title, sort, query, onSort } = props
  if (sort === undefined) return <th>{title}</th>
  const isSorted = query.sort === sort
  const direction = query.descending ? 'descending' : 'ascending'
  return (
    <th {...(isSorted && { 'aria-sort': direction })}>
      <button type="button" onClick={() => onSort(sort)}>
        {title} {isSorted && <Icon name={query.descending ? 'arrow-down' : 'arrow-up'} />}
      </button>
    </th>
  )
}

function DeviceRow({
  device,
  selection: { chosen, set },
}: { device: Device } & Pick<TableProps, 'selection'>) {
  const { nodeId, tags, state, lastSeenAt, version, services, fix } = device
  return (
    <tr data-node={nodeId}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${nameOf(device)}`}
          checked={chosen.has(nodeId)}
          onChange={({ currentTarget }) => set([device], currentTarget.checked)}
        />
      </td>
      <td class="main">
        <Link class="name" to={`/devices/${nodeId}`}>
          {nameOf(device)}
        </Link>
        {tags.length > 0 ? (
          <div class="line tight">
            <Tags tags={tags} />
          </div>
        ) : (
          <small class="id">
            <CopyId text={nodeId} shown={nodeId.slice(0, 12)} label={`Node ID of ${nameOf(device)}`} />
          </small>
        )}
      </td>
      <td>
        <DeviceState state={state} />
      </td>
      <td>
        <ServiceCount state={state} services={services} />
      </td>
      <td class="mono">{version || '—'}</td>
      <td class="soft">
        <Time of={lastSeenAt} />
      </td>
      <td class="wide soft num">{fix ? `${fix.latitude.toFixed(4)}, ${fix.longitude.toFixed(4)}` : '—'}</td>
    </tr>
  )
}

/** How many services are in each state, in the words of the page of the device; a failed one alone where there is one. */
function ServiceCount({ state, services }: Pick<Device, 'state' | 'services'>) {
  const failed = services.filter(({ state }) => state === 'failed').length
  if (failed)
    return (
      <span class="badge bad">
        <Icon name="triangle-alert" />
        {failed} failed
      </span>
    )
  if (services.length === 0) return <span class="faint">None</span>
  // Of a device that is not online, this was the case when it was last seen.
  return <span class={state === 'online' ? '' : 'faint'}>{countStates(services)}</span>
}
