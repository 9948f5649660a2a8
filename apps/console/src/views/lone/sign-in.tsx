import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Link } from '../../parts/link.tsx'
import { View } from '../../parts/view.tsx'
import { signInWithPasskey } from '../../passkeys.ts'

interface SignInProps {
  readonly needsOwner: boolean
  readonly onDone: () => Promise<void>
}

export default function SignInView({ needsOwner, onDone }: SignInProps) {
  const [isRecovery, setRecovery] = useState(false)
  if (needsOwner) return <NoOwner />
  return (
    <View title={isRecovery ? 'Use a recovery code' : 'Sign in'}>
      {!isRecovery && (
        <>
          <Action
            kind="primary"
            icon="fingerprint"
            run={async () => {
              await signInWithPasskey()
              await onDone()
            }}
          >
            Sign in with a passkey
          </Action>
          <p class="or">or with a password</p>
        </>
      )}
      <SecretForm key={String(isRecovery)} isRecovery={isRecovery} onDone={onDone} />
      <Link to="/sign-in/company" class="btn quiet">
        Sign in with your company
      </Link>
      <button type="button" class="btn quiet" onClick={() => setRecovery(!isRecovery)}>
        {isRecovery ? 'Use a passkey or password' : 'Use a recovery code'}
      </button>
      <details>
        <summary class="faint">I can’t sign in</summary>
        <p class="soft">Ask your operator for a sign-in link. They run:</p>
        <Copy
          isCommand
          label="Command that makes a sign-in link"
          text="sudo selvedge-admin account link --email you@example.com"
        />
      </details>
    </View>
  )
}

/** With a password or a recovery code. */
function SecretForm({ isRecovery, onDone }: { isRecovery: boolean; onDone: () => Promise<void> }) {
  return (
    <Form
      submit="Sign in"
      kind={isRecovery ? 'primary' : ''}
      send={async (values) => {
        const email = String(values.get('email'))
        const secret = String(values.get('secret'))
        if (isRecovery) await api['sign_in.recovery']({ email, code: secret.trim() })
        else await api['sign_in.password']({ email, password: secret })
        await onDone()
      }}
    >
      <Field
        label="Email"
        name="email"
        type="email"
        autocomplete="username"
        value={sessionStorage.getItem('email') ?? ''}
        required
      />
      {isRecovery ? (
        <Field
          label="Recovery code"
          name="secret"
          required
          autocomplete="one-time-code"
          spellcheck={false}
          hint="Each of your ten codes works once."
        />
      ) : (
        <Field label="Password" name="secret" type="password" autocomplete="current-password" required />
      )}
    </Form>
  )
}

const NoOwner = () => (
  <View title="Finish the setup">
    <p>Open the link for the first owner. This command prints it on the machine of the service:</p>
    <Copy isCommand label="Command that prints the link" text="sudo selvedge-admin account link" />
    <p class="soft">
      In a clone: the <code>owner</code> link of <code>npm start</code>.
    </p>
  </View>
)
