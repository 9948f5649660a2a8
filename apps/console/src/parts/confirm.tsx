import type { Viewer } from '@selvedge/protocol/console'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { confirmWithCompany } from '../company.ts'
import { signInWithPasskey } from '../passkeys.ts'
import { Action } from './action.tsx'
import { Dialog } from './dialog.tsx'
import { Field, Form } from './form.tsx'

/** Requires a new sign-in before a sensitive action. */
export default function Confirm({ viewer, onEnd }: { viewer: Viewer; onEnd: (confirmed: boolean) => void }) {
  const [before] = useState(viewer.authTime)
  // The other tab, in which the company asked, brought a fresh sign-in.
  useEffect(() => {
    if (viewer.authTime > before) onEnd(true)
  }, [viewer.authTime])
  return (
    <Dialog title="Confirm it’s you" closing="Cancel" onClose={() => onEnd(false)}>
      <p>This needs a fresh sign-in. You won’t be asked again for 10 minutes.</p>
      {viewer.company !== null && <WithCompany domain={viewer.company} />}
      {viewer.company === null && viewer.passkeys > 0 && (
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
      {viewer.company === null && viewer.hasPassword && (
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

const WithCompany = ({ domain }: { domain: string }) => (
  <>
    <Action kind="primary" run={() => confirmWithCompany(domain)}>
      {`Confirm with ${domain}`}
    </Action>
    <p class="faint">A new tab opens. This one continues when you are back.</p>
  </>
)
