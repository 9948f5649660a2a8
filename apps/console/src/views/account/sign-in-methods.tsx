import { minPasswordLength } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Time } from '../../parts/time.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card } from '../../parts/view.tsx'
import type { Call } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'

const NewPasskey = lazyView(() => import('./new-passkey.tsx'))

export function SignInMethods({ passkeys: { data, reload } }: { passkeys: Call<Passkey[]> }) {
  const { refresh } = useHome()
  const reloadAll = async () => {
    await reload()
    await refresh()
  }
  return (
    <Card title="Sign-in methods" flush action={<AddPasskey onAdded={reloadAll} />}>
      <ul class="rows">
        {data?.map((passkey) => (
          <PasskeyRow key={passkey.credentialId} passkey={passkey} onRemoved={reloadAll} />
        ))}
        <PasswordRow />
        <RecoveryRow />
      </ul>
    </Card>
  )
}

function AddPasskey({ onAdded }: { onAdded: () => Promise<void> }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="btn" onClick={() => setOpen(true)}>
        <Icon name="plus" />
        Add passkey
      </button>
      {isOpen && <NewPasskey onAdded={onAdded} onClose={() => setOpen(false)} />}
    </>
  )
}

type Passkey = Awaited<ReturnType<(typeof api)['passkey.list']>>[number]

function PasskeyRow({ passkey, onRemoved }: { passkey: Passkey; onRemoved: () => Promise<void> }) {
  const { credentialId, name, createdAt, lastUsedAt } = passkey
  const { viewer } = useHome()
  const isLast = viewer.passkeys === 1 && !viewer.hasPassword
  return (
    <li>
      <span class="glyph">
        <Icon name="fingerprint" />
      </span>
      <div>
        <strong>{name}</strong>
        <small>
          Passkey · added <Time of={createdAt} /> · {lastUsedAt ? 'used ' : 'never used'}
          {lastUsedAt && <Time of={lastUsedAt} />}
          {isLast && ' · your only way to sign in'}
        </small>
      </div>
      <Guarded
        kind="quiet"
        disabled={isLast}
        label={`Remove the passkey ${name}`}
        title={`Remove the passkey “${name}”?`}
        consequence="You can’t sign in with it any more."
        run={async () => {
          await api['passkey.remove']({ credentialId })
          await onRemoved()
        }}
      >
        Remove
      </Guarded>
    </li>
  )
}

function PasswordRow() {
  const { viewer, refresh } = useHome()
  const [isOpen, setOpen] = useState(false)
  const title = viewer.hasPassword ? 'Change password' : 'Set password'
  return (
    <li>
      <span class="glyph">
        <Icon name="lock" />
      </span>
      <div>
        <strong>Password</strong>
        <small>{viewer.hasPassword ? 'Set' : 'Not set. You don’t need one.'}</small>
      </div>
      <button type="button" class="btn" onClick={() => setOpen(true)}>
        {title}
      </button>
      {isOpen && (
        <Dialog title={title} closing="Cancel" onClose={() => setOpen(false)}>
          <Form
            submit={title}
            send={async (values) => {
              await api['password.set']({ password: String(values.get('password')) })
              await refresh()
              setOpen(false)
              tell('The password was saved. You are signed out everywhere else.')
            }}
          >
            <input type="hidden" name="username" autocomplete="username" value={viewer.email} />
            <Field
              label="New password"
              name="password"
              type="password"
              autocomplete="new-password"
              required
              hint={`At least ${minPasswordLength} characters. A few words in a row are good. Signs you out everywhere else.`}
            />
          </Form>
        </Dialog>
      )}
    </li>
  )
}

function RecoveryRow() {
  const { viewer, refresh } = useHome()
  const [codes, setCodes] = useState<readonly string[]>()
  const left = viewer.recoveryCodes
  return (
    <li>
      <span class="glyph">
        <Icon name="life-buoy" />
      </span>
      <div>
        <strong>Recovery codes</strong>
        <small class={left === 0 ? 'bad-text' : ''}>
          {left > 0 ? `${left} left` : viewer.hadRecoveryCodes ? 'All used' : 'Not created yet'}
        </small>
      </div>
      <Action
        run={async () => {
          setCodes((await api['recovery.create']()).codes)
          await refresh()
        }}
      >
        Create codes
      </Action>
      {codes && (
        <Dialog title="Your recovery codes" closing="Done" onClose={() => setCodes(undefined)}>
          <p>Your way back in if you lose every passkey. Each works once. They replace the old ones.</p>
          <Copy label="Recovery codes" text={codes.join('\n')} />
        </Dialog>
      )}
    </li>
  )
}
