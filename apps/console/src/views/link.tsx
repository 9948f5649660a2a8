import { minPasswordLength, type Viewer } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Field, Form } from '../parts/form.tsx'
import { Link } from '../parts/link.tsx'
import { View } from '../parts/view.tsx'
import { addPasskey, deviceName } from '../passkeys.ts'
import { navigate } from '../state/route.ts'
import { useCall } from '../state/use-call.ts'

const titles = {
  setup: 'Become the owner of this installation',
  invitation: 'Join an account',
  reset: 'Sign in again',
} as const

/** Purpose of a link: create the first account, join an account, or recover access to your account. */
export function LinkView({ viewer, onDone }: { viewer: Viewer | undefined; onDone: () => Promise<void> }) {
  const [link] = useState(() => location.hash.slice(1))
  const [isIn, setIn] = useState(false)
  const { data, error } = useCall(() => api['link.look']({ link }), [link])

  if (isIn) return <FirstCredential onDone={onDone} />
  if (error)
    return (
      <View title="This link does not work" error={error}>
        <p>
          <Link to="/sign-in">Sign in</Link>
        </p>
      </View>
    )
  if (!data) return <View title="Please wait …">{null}</View>
  const known = data.email ?? viewer?.email
  return (
    <View title={titles[data.purpose]}>
      {data.purpose === 'setup' && <p>You will own the first account. Invite other people later.</p>}
      {data.purpose === 'invitation' && (
        <p>
          You are invited to the account of <strong>{data.accountName}</strong>.
        </p>
      )}
      {data.purpose === 'reset' && (
        <p>
          This link signs <strong>{data.email}</strong> in once, to set a new passkey or password.
        </p>
      )}
      <Form
        submit="Continue"
        send={async (values) => {
          await api['link.use']({ link, email: known ?? String(values.get('email')) })
          // The link is used up, so remove it from the address bar.
          history.replaceState(null, '', location.pathname)
          if (viewer && data.purpose === 'invitation') {
            await onDone()
            navigate('/', true)
          } else setIn(true)
        }}
      >
        {known === undefined ? (
          <Field
            label="Your e-mail address"
            name="email"
            type="email"
            autocomplete="email"
            required
            hint="You sign in with it. The service sends no mail."
          />
        ) : (
          <p>
            As <strong>{known}</strong>
          </p>
        )}
      </Form>
    </View>
  )
}

/** First step after the sign-in: set a sign-in method. */
function FirstCredential({ onDone }: { onDone: () => Promise<void> }) {
  const finish = async () => {
    await onDone()
    navigate('/', true)
  }
  const [usesPassword, setUsesPassword] = useState(false)
  return (
    <View title="How will you sign in?">
      {usesPassword ? (
        <Form
          submit="Set the password"
          send={async (values) => {
            await api['password.set']({ password: String(values.get('password')) })
            await finish()
          }}
        >
          <Field
            label="Password"
            name="password"
            type="password"
            autocomplete="new-password"
            required
            hint={`At least ${minPasswordLength} characters. Several random words are better than special characters.`}
          />
        </Form>
      ) : (
        <Form
          submit="Create a passkey"
          send={async (values) => {
            await addPasskey(String(values.get('name')))
            await finish()
          }}
        >
          <p>A passkey stays on your device or in your password manager, and cannot be phished.</p>
          <Field label="Name of the passkey" name="name" value={deviceName()} required maxLength={60} />
        </Form>
      )}
      <button type="button" class="quiet" onClick={() => setUsesPassword(!usesPassword)}>
        {usesPassword ? 'Create a passkey instead' : 'Use a password instead'}
      </button>
    </View>
  )
}
