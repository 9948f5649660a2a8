import type { Device } from '@selvedge/protocol/console'
import type { ComponentChildren } from 'preact'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card } from '../../parts/view.tsx'
import { nameOf } from '../../state/presence.ts'
import { navigate } from '../../state/route.ts'
import { useHome } from '../../state/viewer.ts'

interface DangerProps {
  readonly device: Device
  readonly onChanged: () => Promise<void>
}

/** Revokes the tokens of a device. Owners also block it or remove it from the account. */
export function DangerZone({ device, onChanged }: DangerProps) {
  const { viewer } = useHome()
  return (
    <Card title="Danger zone" kind="danger-zone" flush>
      <ul class="rows">
        <RevokeTokens device={device} onChanged={onChanged} />
        {viewer.role === 'owner' && (
          <>
            <Block device={device} onChanged={onChanged} />
            <Remove device={device} />
          </>
        )}
      </ul>
    </Card>
  )
}

function Row({ title, text, children }: { title: string; text: string; children: ComponentChildren }) {
  return (
    <li>
      <div>
        <strong>{title}</strong>
        <small>{text}</small>
      </div>
      {children}
    </li>
  )
}

function RevokeTokens({ device, onChanged }: DangerProps) {
  const { nodeId } = device
  const name = nameOf(device)
  const text = 'Programs that use this device must sign in again. Takes effect within 30 seconds.'
  return (
    <Row title="Revoke tokens" text={text}>
      <Guarded
        kind=""
        title={`Revoke tokens for ${name}?`}
        consequence={text}
        run={async () => {
          await api['device.revoke']({ nodeId })
          await onChanged()
          tell(`Tokens for ${name} are revoked`)
        }}
      >
        Revoke tokens
      </Guarded>
    </Row>
  )
}

function Block({ device, onChanged }: DangerProps) {
  const { nodeId, state } = device
  const name = nameOf(device)
  const text = 'For a lost or stolen device. It gets no tokens until you unblock it.'
  if (state === 'blocked')
    return (
      <Row title="Unblock device" text="It gets tokens again.">
        <Action
          run={async () => {
            await api['device.unblock']({ nodeId })
            await onChanged()
            tell(`${name} is unblocked`)
          }}
        >
          Unblock device
        </Action>
      </Row>
    )
  return (
    <Row title="Block device" text={text}>
      <Guarded
        title={`Block ${name}?`}
        consequence="Its tokens are revoked, and it gets no more until you unblock it."
        run={async () => {
          await api['device.block']({ nodeId })
          await onChanged()
          tell(`${name} is blocked`)
        }}
      >
        Block device
      </Guarded>
    </Row>
  )
}

function Remove({ device }: { device: Device }) {
  const { nodeId, services } = device
  const name = nameOf(device)
  const count = services.length
  const stop =
    count === 0
      ? ''
      : ` Your ${count === 1 ? 'service' : `${count} services`} on it ${count === 1 ? 'stops' : 'stop'}.`
  return (
    <Row title="Remove from account" text={`For a device that changes hands.${stop}`}>
      <Guarded
        title={`Remove ${name} from the account?`}
        consequence={`The device leaves this account.${stop} Tokens for it are revoked.`}
        typed={name}
        run={async () => {
          await api['device.disassociate']({ nodeId })
          navigate('/devices')
          tell(`${name} was removed`)
        }}
      >
        Remove from account
      </Guarded>
    </Row>
  )
}
