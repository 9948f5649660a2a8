import type { Device } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, Select } from '../../parts/form.tsx'
import { nowMs, Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

/** The services of a device that people of other accounts may call; for owners. */
export default function Shares({ device: { nodeId, services } }: { device: Device }) {
  const [isOpen, setOpen] = useState(false)
  const { data: shares = [], reload } = useCall(() => api['share.list']({ nodeId }), [nodeId])
  return (
    <Card title="Shared services" flush>
      <ul class="rows">
        {shares.map(({ shareId, service, with: who, until }) => (
          <li key={shareId}>
            <div>
              <strong>{service}</strong>
              <small>
                with {who}, ends <Time of={until} />
              </small>
            </div>
            <Action
              kind="quiet"
              label={`Stop sharing ${service} with ${who}`}
              run={async () => {
                await api['share.remove']({ shareId })
                await reload()
              }}
            >
              Stop sharing
            </Action>
          </li>
        ))}
        <li>
          <div>
            <small>Lets a user of the app call a service with MCM.ACCESS “users” at this device.</small>
          </div>
          <button type="button" class="btn" disabled={services.length === 0} onClick={() => setOpen(true)}>
            Share a service
          </button>
        </li>
      </ul>
      {isOpen && (
        <ShareService nodeId={nodeId} services={services} onClose={() => setOpen(false)} onShared={reload} />
      )}
    </Card>
  )
}

const dayMs = 86_400_000
/** A date as the browser's field writes it. */
const dateIn = (days: number): string => new Date(nowMs() + days * dayMs).toISOString().slice(0, 10)

function ShareService(
  props: Pick<Device, 'nodeId' | 'services'> & { onClose: () => void; onShared: () => Promise<void> },
) {
  const { nodeId, services, onClose, onShared } = props
  return (
    <Dialog title="Share a service" closing="Cancel" onClose={onClose}>
      <Form
        submit="Share service"
        send={async (values) => {
          const until = new Date(Date.parse(`${values.get('until')}T00:00:00Z`) + dayMs).toISOString()
          const [service, who] = [String(values.get('service')), String(values.get('with')).trim()]
          await api['share.add']({ nodeId, service, with: who, until })
          await onShared()
          onClose()
        }}
      >
        <Select
          label="Service"
          name="service"
          options={services.map(({ id, name }) => [id, name] as const)}
        />
        <Field
          label="With"
          name="with"
          hint="Address of a person who has signed in to an app of the account, ID of a person (“sub”), or name of a group."
          required
          maxLength={320}
          spellcheck={false}
        />
        <Field
          label="Until"
          name="until"
          type="date"
          hint="The end of this day in UTC, at most 400 days from now."
          value={dateIn(30)}
          required
        />
      </Form>
    </Dialog>
  )
}
