import { minPasswordLength } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'
import { addPasskey, deviceName } from '../../passkeys.ts'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'

export function SignInMethods() {
  return (
    <Card title="Sign-in methods">
      <Passkeys />
      <Password />
      <RecoveryCodes />
    </Card>
  )
}

function Passkeys() {
  const { refresh } = useHome()
  const { data, reload } = useCall(() => api['passkey.list']())
  const reloadAll = async () => {
    await reload()
    await refresh()
  }
  return (
    <>
      <ul class="plain">
        {data?.map(({ credentialId, name, createdAt, lastUsedAt }) => (
          <li key={credentialId}>
            <span>
              <strong>{name}</strong>
              <br />
              <small class="hint">
                passkey, created <Time of={createdAt} />, {lastUsedAt ? 'used ' : 'never used'}
                {lastUsedAt && <Time of={lastUsedAt} />}
              </small>
            </span>
            <Action
              kind="danger"
              label={`Remove the passkey ${name}`}
              question={`Remove the passkey “${name}”?`}
              run={async () => {
                await api['passkey.remove']({ credentialId })
                await reloadAll()
              }}
            >
              Remove
            </Action>
          </li>
        ))}
      </ul>
      <details>
        <summary>Add a passkey</summary>
        <Form
          submit="Add a passkey"
          send={async (values) => {
            await addPasskey(String(values.get('name')))
            await reloadAll()
          }}
        >
          <Field label="Name of the passkey" name="name" value={deviceName()} required maxLength={60} />
        </Form>
      </details>
    </>
  )
}

function Password() {
  const { viewer, refresh } = useHome()
  return (
    <details>
      <summary>{viewer.hasPassword ? 'Change the password' : 'Set a password'}</summary>
      <Form
        submit="Set the password"
        kind=""
        send={async (values) => {
          await api['password.set']({ password: String(values.get('password')) })
          await refresh()
        }}
      >
        <input type="hidden" name="username" autocomplete="username" value={viewer.email} />
        <Field
          label="New password"
          name="password"
          type="password"
          autocomplete="new-password"
          required
          hint={`At least ${minPasswordLength} characters. Your other sessions are signed out.`}
        />
      </Form>
    </details>
  )
}

function RecoveryCodes() {
  const { viewer, refresh } = useHome()
  const [codes, setCodes] = useState<readonly string[]>()
  return (
    <details>
      <summary>Recovery codes ({viewer.recoveryCodes} left)</summary>
      <p>
        Ten codes to sign in with if you lose your other sign-in methods. Each works once. New codes replace
        the old ones.
      </p>
      <Action
        run={async () => {
          setCodes((await api['recovery.create']()).codes)
          await refresh()
        }}
      >
        Create recovery codes
      </Action>
      {codes && <Copy label="Recovery codes" text={codes.join('\n')} />}
    </details>
  )
}
