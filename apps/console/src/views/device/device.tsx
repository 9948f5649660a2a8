import type { Device } from '@selvedge/protocol/console'
import { CopyId } from '../../parts/copy.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Link } from '../../parts/link.tsx'
import { DeviceState } from '../../parts/state.tsx'
import { Tags } from '../../parts/tags.tsx'
import { Time } from '../../parts/time.tsx'
import { Bones, Card, View } from '../../parts/view.tsx'
import { nameOf } from '../../state/presence.ts'
import { useDevice } from '../../state/use-devices.ts'
import { LastLocation } from './last-location.tsx'
import { Services } from './services.tsx'
import { Stats, System } from './vitals.tsx'

const parent = ['/devices', 'Devices'] as const
const StatedNotice = lazyView(() => import('./stated-notice.tsx'))
const Settings = lazyView(() => import('./settings.tsx'))

export default function DeviceView({ nodeId, part }: { nodeId: string; part: string }) {
  const { device, vitals, error, isMissing, reload } = useDevice(nodeId)
  if (isMissing) return <Missing />
  if (!device)
    return (
      <View title="Device" parent={parent} error={error}>
        {!error && <Bones />}
      </View>
    )
  const path = `/devices/${nodeId}`
  const tabs = [
    { to: path, title: 'Overview' },
    { to: `${path}/settings`, title: 'Settings' },
  ]
  return (
    <View
      title={nameOf(device)}
      parent={parent}
      about={<Standing device={device} />}
      tabs={tabs}
      tab={part === '' ? path : `${path}/${part}`}
      error={error}
    >
      {part === 'settings' ? (
        <Settings device={device} onChanged={reload} />
      ) : (
        <>
          {vitals &&
            (vitals.notices.length > 0 || device.services.some(({ state }) => state === 'failed')) && (
              <StatedNotice device={device} vitals={vitals} />
            )}
          {vitals && <Stats vitals={vitals} />}
          <div class="two">
            <div class="stack">
              <Services services={device.services} stated={vitals?.services ?? []} />
            </div>
            <div class="stack">
              <LastLocation device={device} />
              <Details device={device} />
              {vitals && <System vitals={vitals} />}
            </div>
          </div>
        </>
      )}
    </View>
  )
}

const Missing = () => (
  <View title="Device not found" parent={parent} about="It may have been removed.">
    <div>
      <Link to="/devices" class="btn">
        All devices
      </Link>
    </div>
  </View>
)

const Standing = ({ device: { state, lastSeenAt, tags } }: { device: Device }) => (
  <span class="line tight">
    <DeviceState state={state} />
    <span class="faint">
      seen <Time of={lastSeenAt} />
    </span>
    <Tags tags={tags} />
  </span>
)

function Details({ device: { nodeId, name, version, enrolledAt } }: { device: Device }) {
  return (
    <Card title="Details">
      <dl class="kv">
        <dt>Node ID</dt>
        <dd>
          <CopyId text={nodeId} label="Node ID" />
        </dd>
        <dt>Calls itself</dt>
        <dd>{name}</dd>
        <dt>Runtime</dt>
        <dd class="mono">{version || '—'}</dd>
        <dt>Added</dt>
        <dd>
          <Time of={enrolledAt} />
        </dd>
      </dl>
    </Card>
  )
}
