import type { Viewer } from '@selvedge/protocol/console'
import { api } from '../api.ts'
import { signInWithPasskey } from '../passkeys.ts'
import { Action } from './action.tsx'
import { Dialog } from './dialog.tsx'
import { Field, Form } from './form.tsx'

/** Asks the person to sign in again before a sensitive action. */
export function Confirm({ viewer, onEnd }: { viewer: Viewer; onEnd: (confirmed: boolean) => void }) {
  return (
    <Dialog title="Confirm that it is you" onClose={() => onEnd(false)}>
      <p>Your last sign-in was more than ten minutes ago. Sign in again for this action.</p>
      {viewer.passkeys > 0 && (
        <Action
          kind="primary"
          run={async () => {
            await signInWithPasskey()
            onEnd(true)
          }}
        >
          Use a passkey
        </Action>
      )}
      {viewer.hasPassword && (
        <Form
          submit="Confirm"
          kind={viewer.passkeys > 0 ? '' : 'primary'}
          send={async (values) => {
            await api['sign_in.password']({ email: viewer.email, password: String(values.get('password')) })
            onEnd(true)
          }}
        >
          <input type="hidden" name="username" autocomplete="username" value={viewer.email} />
          <Field label="Password" name="password" type="password" autocomplete="current-password" required />
        </Form>
      )}
    </Dialog>
  )
}
