import type { Viewer } from '@selvedge/protocol/console'
import { api } from '../api.ts'
import { signInWithPasskey } from '../passkeys.ts'
import { Action } from './action.tsx'
import { Dialog } from './dialog.tsx'
import { Field, Form } from './form.tsx'

/** Requires a new sign-in before a sensitive action. */
export default function Confirm({ viewer, onEnd }: { viewer: Viewer; onEnd: (confirmed: boolean) => void }) {
  return (
    <Dialog title="Confirm it’s you" closing="Cancel" onClose={() => onEnd(false)}>
      <p>This needs a fresh sign-in. You won’t be asked again for 10 minutes.</p>
      {viewer.passkeys > 0 && (
        <Action
          kind="primary"
          icon="fingerprint"
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
