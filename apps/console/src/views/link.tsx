import type { Viewer } from '@selvedge/protocol/console'
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

/** Where a link leads: to the first owner’s account, into somebody’s account, or back into one’s own. */
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
  if (!data) return <View title="One moment …">{null}</View>
  const known = data.email ?? viewer?.email
  return (
    <View title={titles[data.purpose]}>
      {data.purpose === 'setup' && (
        <p>You make the first account. Others can join it later, by invitation.</p>
      )}
      {data.purpose === 'invitation' && (
        <p>
          You are invited to the account of <strong>{data.accountName}</strong>.
        </p>
      )}
      {data.purpose === 'reset' && (
        <p>
          This link signs <strong>{data.email}</strong> in once, to make a new passkey or password.
        </p>
      )}
      <Form
        submit="Go on"
        send={async (values) => {
          await api['link.use']({ link, email: known ?? String(values.get('email')) })
          // What is used up need not stay in the address bar.
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
            hint="It is your name here. No mail is sent to it."
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

/** The first thing to do once somebody is in: a way to come back. */
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
            hint="At least 12 characters. Longer is better than stranger: a few words in a row."
          />
        </Form>
      ) : (
        <Form
          submit="Make a passkey"
          send={async (values) => {
            await addPasskey(String(values.get('name')))
            await finish()
          }}
        >
          <p>
            A passkey stays on your device or in your password manager, and can’t be given to the wrong page.
          </p>
          <Field label="Name of the passkey" name="name" value={deviceName()} required maxLength={60} />
        </Form>
      )}
      <button type="button" class="quiet" onClick={() => setUsesPassword(!usesPassword)}>
        {usesPassword ? 'Make a passkey instead' : 'Use a password instead'}
      </button>
    </View>
  )
}
