import { minPasswordLength, type Viewer } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Field, Form } from '../../parts/form.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, View } from '../../parts/view.tsx'
import { addPasskey, deviceName } from '../../passkeys.ts'
import { navigate } from '../../state/route.ts'
import { useCall } from '../../state/use-call.ts'

interface LinkProps {
  readonly viewer: Viewer | undefined
  readonly onDone: () => Promise<void>
}

type Purpose = Awaited<ReturnType<(typeof api)['link.look']>>

const titleOf = ({ purpose, accountName }: Purpose): string =>
  ({ setup: 'Set up Selvedge', invitation: `Join ${accountName}`, reset: 'Get back in' })[purpose]

const aboutOf = ({ purpose, email }: Purpose): string =>
  ({
    setup: 'You will be the owner of this installation.',
    invitation: 'You are invited to this account.',
    reset: `This link works once. Create a new passkey or password for ${email}.`,
  })[purpose]

/** Purpose of a link: create the first account, join an account, or recover access to your account. */
export default function LinkView({ viewer, onDone }: LinkProps) {
  const [link] = useState(() => location.hash.slice(1))
  const [isIn, setIn] = useState(false)
  const { data, error } = useCall(() => api['link.look']({ link }), [link])

  if (isIn) return <FirstCredential onDone={onDone} />
  if (error)
    return (
      <View title="This link has expired or was used" error={error}>
        <Link to="/sign-in" class="btn">
          Sign in
        </Link>
      </View>
    )
  if (!data) return <Bones />
  const known = data.email ?? viewer?.email
  return (
    <View title={titleOf(data)} about={aboutOf(data)}>
      <Form
        submit="Continue"
        send={async (values) => {
          // A link refreshes no session of its own person, so this one ends.
          if (viewer && viewer.email === data.email) await api['session.end']()
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
            label="Your email"
            name="email"
            type="email"
            autocomplete="email"
            required
            hint="You sign in with it. We send nothing to it."
          />
        ) : (
          <p>
            You continue as <strong>{known}</strong>
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
    <View
      title={usesPassword ? 'Create a password' : 'Create a passkey'}
      about={
        usesPassword
          ? 'A few words in a row are good.'
          : 'You sign in with your fingerprint, face or device PIN. Nothing to remember, nothing to phish.'
      }
    >
      {usesPassword ? (
        <Form
          key="password"
          submit="Create password"
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
            hint={`At least ${minPasswordLength} characters.`}
          />
        </Form>
      ) : (
        <Form
          key="passkey"
          submit="Create passkey"
          send={async (values) => {
            await addPasskey(String(values.get('name')))
            await finish()
          }}
        >
          <Field label="Passkey name" name="name" value={deviceName()} required maxLength={60} />
        </Form>
      )}
      <button type="button" class="btn quiet" onClick={() => setUsesPassword(!usesPassword)}>
        {usesPassword ? 'Create a passkey instead' : 'Use a password instead'}
      </button>
    </View>
  )
}
