import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Field, Form } from '../parts/form.tsx'
import { View } from '../parts/view.tsx'
import { signInWithPasskey } from '../passkeys.ts'

export function SignInView({ needsOwner, onDone }: { needsOwner: boolean; onDone: () => Promise<void> }) {
  const [isRecovery, setRecovery] = useState(false)
  if (needsOwner)
    return (
      <View title="This installation has no owner yet">
        <p>
          The link that creates the first owner is in the output of <code>npm start</code>, on the line that
          begins with <code>owner</code>. Every start prints a new one.
        </p>
        <p>If the service runs without a terminal, its operator creates an account and a link:</p>
        <pre>
          npx selvedge admin account create --email you@example.com{'\n'}npx selvedge admin account link
          --email you@example.com
        </pre>
      </View>
    )
  return (
    <View title="Sign in">
      <Action
        kind="primary"
        run={async () => {
          await signInWithPasskey()
          await onDone()
        }}
      >
        Use a passkey
      </Action>
      <p class="or">or</p>
      <Form
        key={String(isRecovery)}
        submit={isRecovery ? 'Use the recovery code' : 'Sign in'}
        kind=""
        send={async (values) => {
          const email = String(values.get('email'))
          const secret = String(values.get('secret')).trim()
          if (isRecovery) await api['sign_in.recovery']({ email, code: secret })
          else await api['sign_in.password']({ email, password: secret })
          await onDone()
        }}
      >
        <Field label="E-mail address" name="email" type="email" autocomplete="username" required />
        {isRecovery ? (
          <Field
            label="Recovery code"
            name="secret"
            required
            autocomplete="one-time-code"
            spellcheck={false}
            hint="One of your ten recovery codes. Each works once."
          />
        ) : (
          <Field label="Password" name="secret" type="password" autocomplete="current-password" required />
        )}
      </Form>
      <button type="button" class="quiet" onClick={() => setRecovery(!isRecovery)}>
        {isRecovery ? 'Use a password' : 'Use a recovery code'}
      </button>
      <p class="hint">
        Lost all your sign-in methods? Ask the operator of this installation for a link:{' '}
        <code>selvedge admin account link</code>.
      </p>
    </View>
  )
}
