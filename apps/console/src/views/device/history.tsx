import type { DeviceHistoryEntry } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import type { IconName } from '../../parts/icon.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { Card } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

const icons: Readonly<Record<DeviceHistoryEntry['kind'], IconName>> = {
  started: 'refresh-cw',
  returned: 'radio',
  version: 'download',
  service: 'box',
  restart: 'refresh-cw',
  notice: 'triangle-alert',
  change: 'users',
}

/**
 * What happened to a device, and what people did to it, newest first.
 *
 * @param statedAt when the device last stated something: then there may be more
 */
export default function History({ nodeId, statedAt }: { nodeId: string; statedAt: string }) {
  const { data, error } = useCall(() => api['device.history']({ nodeId }), [nodeId, statedAt])
  return (
    <Card title="History" flush>
      {error && <p class="body error">{error}</p>}
      {data?.length === 0 && (
        <p class="body soft">Nothing yet. Restarts, failures and changes show up here, with their reasons.</p>
      )}
      <Timeline happenings={data?.map((each) => ({ ...each, icon: icons[each.kind] })) ?? []} />
    </Card>
  )
}
