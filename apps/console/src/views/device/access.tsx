import type { Device } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Card } from '../../parts/view.tsx'
import { navigate } from '../../state/route.ts'
import { useHome } from '../../state/viewer.ts'

interface AccessProps {
  readonly device: Device
  readonly onChanged: () => Promise<void>
}

/** Revokes the tokens of a device. Owners also block it or remove the account from it. */
export function DeviceAccess({ device, onChanged }: AccessProps) {
  const { viewer } = useHome()
  const { nodeId, name } = device
  return (
    <Card title="Access">
      <p>
        <Action
          question={`Revoke every token for ${name} that was issued until now?`}
          run={async () => {
            await api['device.revoke']({ nodeId })
            await onChanged()
          }}
        >
          Revoke its tokens
        </Action>{' '}
        <span class="hint">
          Programs that use the device need new tokens. The device refuses the old ones within half a minute.
        </span>
      </p>
      {viewer.role === 'owner' && (
        <>
          <Block device={device} onChanged={onChanged} />
          <Disassociate device={device} />
        </>
      )}
    </Card>
  )
}

function Block({ device: { nodeId, name, state }, onChanged }: AccessProps) {
  return (
    <p>
      {state === 'blocked' ? (
        <Action
          run={async () => {
            await api['device.unblock']({ nodeId })
            await onChanged()
          }}
        >
          Unblock
        </Action>
      ) : (
        <Action
          kind="danger"
          question={`Block ${name}? It gets no more tokens until you unblock it.`}
          run={async () => {
            await api['device.block']({ nodeId })
            await onChanged()
          }}
        >
          Block
        </Action>
      )}{' '}
      <span class="hint">
        For a device that is lost or stolen: its tokens are revoked, and it gets no new ones.
      </span>
    </p>
  )
}

function Disassociate({ device: { nodeId, name } }: { device: Device }) {
  return (
    <p>
      <Action
        kind="danger"
        question={`Remove your account from ${name}?`}
        run={async () => {
          await api['device.disassociate']({ nodeId })
          navigate('/devices')
        }}
      >
        Disassociate
      </Action>{' '}
      <span class="hint">
        For a device that gets a new owner: your account is removed from it, and your services stop.
      </span>
    </p>
  )
}
