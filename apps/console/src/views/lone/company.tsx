import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { goToCompany } from '../../company.ts'
import { explain } from '../../failures.ts'
import { Action } from '../../parts/action.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, View } from '../../parts/view.tsx'
import { takeNext } from '../../state/next.ts'
import { navigate } from '../../state/route.ts'

interface CompanyProps {
  /** "" if the person has not named it yet. */
  readonly domain: string
  readonly isCallback: boolean
  readonly onDone: () => Promise<void>
}

/** Sign-in with the provider of a company: the way there, and the way back. */
export default function CompanyView({ domain, isCallback, onDone }: CompanyProps) {
  if (isCallback) return <Callback domain={domain} onDone={onDone} />
  return (
    <View title="Sign in with your company">
      {domain === '' ? (
        <Form submit="Continue" send={(values) => goToCompany(String(values.get('address')), 'sign_in')}>
          <Field
            label="Work email or domain"
            name="address"
            autocomplete="username"
            required
            maxLength={254}
            spellcheck={false}
            hint="Your company’s own sign-in page opens."
          />
        </Form>
      ) : (
        <Action kind="primary" run={() => goToCompany(domain, 'sign_in')}>
          {`Continue to ${domain}`}
        </Action>
      )}
      <Link to="/sign-in" class="btn quiet">
        Other ways to sign in
      </Link>
    </View>
  )
}

/** The provider sent the browser back: once, with what the service checks. */
function Callback({ domain, onDone }: { domain: string; onDone: () => Promise<void> }) {
  const [error, setError] = useState<string>()
  const [isConfirmed, setConfirmed] = useState(false)
  useEffect(() => {
    const query = location.search.slice(1)
    // Neither the history nor a reload has it again.
    history.replaceState(null, '', location.pathname)
    if (query === '') return setError('There is nothing to finish here.')
    api['company.finish']({ domain, query }).then(
      async ({ purpose }) => {
        if (purpose === 'confirm') {
          setConfirmed(true)
          close()
          return
        }
        await onDone()
        navigate(purpose === 'link' ? '/account' : takeNext(), true)
      },
      async (cause) => setError(await explain(cause)),
    )
  }, [])
  if (isConfirmed)
    return (
      <View title="Confirmed">
        <p>You can close this tab and go on in the other one.</p>
        <Link to="/" class="btn">
          Open the console
        </Link>
      </View>
    )
  if (error === undefined) return <Bones />
  return (
    <View title="You are not signed in yet" error={error}>
      <Link to={`/sign-in/${domain}`} class="btn primary">
        Start again
      </Link>
      <Link to="/sign-in" class="btn quiet">
        Other ways to sign in
      </Link>
    </View>
  )
}
