import type { Device, Vitals } from '@selvedge/protocol/console'
import { CopyId } from '../../parts/copy.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'
import { LastLocation } from './last-location.tsx'
import { Services } from './services.tsx'
import { Stats, System } from './vitals.tsx'

const History = lazyView(() => import('./history.tsx'))
const StatedNotice = lazyView(() => import('./stated-notice.tsx'))

/** @param vitals null where the device does not state them */
export default function Overview({ device, vitals }: { device: Device; vitals: Vitals | null }) {
  return (
    <>
      {vitals && (vitals.notices.length > 0 || device.services.some(({ state }) => state === 'failed')) && (
        <StatedNotice device={device} vitals={vitals} />
      )}
      {vitals && <Stats vitals={vitals} />}
      <div class="two">
        <div class="stack">
          <Services device={device} stated={vitals?.services ?? []} />
          <History nodeId={device.nodeId} statedAt={device.lastSeenAt} />
        </div>
        <div class="stack">
          <LastLocation device={device} />
          <Details device={device} />
          {vitals && <System vitals={vitals} />}
        </div>
      </div>
    </>
  )
}

function Details({ device: { nodeId, name, version, enrolledAt } }: { device: Device }) {
  return (
    <Card title="Details">
      <dl class="kv">
        <dt>Node ID</dt>
        <dd>
          <CopyId text={nodeId} label="Node ID" />
        </dd>
        <dt>Its own name</dt>
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
