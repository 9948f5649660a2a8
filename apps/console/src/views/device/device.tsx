import type { Device } from '@selvedge/protocol/console'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Link } from '../../parts/link.tsx'
import { DeviceState } from '../../parts/state.tsx'
import { Tags } from '../../parts/tags.tsx'
import { Time } from '../../parts/time.tsx'
import { Bones, View } from '../../parts/view.tsx'
import { nameOf } from '../../state/presence.ts'
import { useDevice } from '../../state/use-device.ts'
import { useHome } from '../../state/viewer.ts'

const parent = ['/devices', 'Devices'] as const
const Overview = lazyView(() => import('./overview.tsx'))
const Settings = lazyView(() => import('./settings.tsx'))
const Shares = lazyView(() => import('./shares.tsx'))

export default function DeviceView({ nodeId, part }: { nodeId: string; part: string }) {
  const { viewer } = useHome()
  const { device, vitals, error, isMissing, reload } = useDevice(nodeId)
  if (isMissing) return <Missing />
  if (!device)
    return (
      <View title="Device" parent={parent} error={error}>
        {!error && <Bones of="rows" />}
      </View>
    )
  const path = `/devices/${nodeId}`
  const tabs = [
    { to: path, title: 'Overview' },
    ...(viewer.role === 'owner' ? [{ to: `${path}/sharing`, title: 'Sharing' }] : []),
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
      {part === 'sharing' ? (
        <Shares device={device} />
      ) : part === 'settings' ? (
        <Settings device={device} onChanged={reload} />
      ) : (
        <Overview device={device} vitals={vitals ?? null} />
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
