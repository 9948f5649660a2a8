import type { AuthorizationStep, Consent, Viewer } from '@selvedge/protocol/console'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { explain } from '../../failures.ts'
import { Action } from '../../parts/action.tsx'
import { capital } from '../../parts/capital.ts'
import { Icon } from '../../parts/icon.tsx'
import { permissionOf } from '../../parts/permissions.ts'
import { Bones, Notice, View } from '../../parts/view.tsx'
import { signInFirst } from '../../state/next.ts'

/** The ticket of the newest request of this tab: a sign-in in between leaves the page. */
function readTicket(query: string): string | null {
  const [ticket, of] = (sessionStorage.getItem('ticket') ?? '').split(' ')
  return of === query ? ticket! : null
}
const keepTicket = (query: string, ticket: string) => sessionStorage.setItem('ticket', `${ticket} ${query}`)

/** An app wants a person to sign in to it: shows which app, for what, and sends the browser back with the decision. */
export function Authorize(props: { viewer: Viewer | undefined; onDone: () => Promise<void> }) {
  const { viewer, onDone } = props
  const [query] = useState(() => location.search.slice(1))
  const [step, setStep] = useState<AuthorizationStep>()
  const [error, setError] = useState<string>()
  const wasSeen = useRef(false)
  const [looked, setLooked] = useState(false)
  /** Since the request began, the person signed out elsewhere. */
  const hasEnded = looked && !viewer

  const take = (next: AuthorizationStep) => {
    setStep(next)
    if (next.step === 'sign_in' || next.step === 'consent') keepTicket(query, next.ticket)
    else sessionStorage.removeItem('ticket')
    if (next.step === 'sign_in') {
      // The sign-in page shows it.
      sessionStorage.setItem('email', next.loginHint)
      signInFirst()
    }
    if (next.step === 'return') location.replace(next.to)
    if (next.step === 'consent' && !viewer) void onDone().then(() => setLooked(true))
  }
  useEffect(() => {
    // The service knew the person of the request before this page did.
    const isSame = !wasSeen.current && viewer !== undefined && step?.step === 'consent'
    wasSeen.current = viewer !== undefined
    if (isSame) return
    api['authorization.begin']({ query, ticket: readTicket(query) }).then(take, async (cause) =>
      setError(await explain(cause)),
    )
  }, [query, viewer?.personId, hasEnded])

  if (error) return <Refused reason={error} />
  if (step?.step === 'refused') return <Refused reason={step.reason} />
  if (step?.step === 'return') return <Returning to={step.to} appName={step.appName} />
  if (step?.step !== 'consent' || !viewer) return <Bones />
  const { ticket, consent } = step
  const decide = (approve: boolean) => async () =>
    take(await api['authorization.decide']({ query, ticket, approve }))
  const leave = async () => {
    await api['session.end']()
    await onDone()
  }
  return <Asking consent={consent} viewer={viewer} decide={decide} leave={leave} />
}

const Refused = ({ reason }: { reason: string }) => (
  <View title="The app’s request can’t be answered" about="Nothing was sent to the app.">
    <Notice
      kind="bad"
      icon="triangle-alert"
      title="What is wrong"
      text={`${capital(reason)}.`.replace(/\.\.$/, '.')}
    />
    <p class="soft">Go back to the app and try again. If it happens again, tell the people who make it.</p>
  </View>
)

const Returning = ({ to, appName }: { to: string; appName: string }) => (
  <View title={appName === '' ? 'Going back to the app' : `Going back to ${appName}`}>
    <p class="soft">If nothing happens, continue by hand. Then you can close this page.</p>
    <a class="btn" href={to}>
      Continue
    </a>
  </View>
)

/** Shows the app and what the approval allows, so that the person can decide. */
function Asking(props: {
  consent: Consent
  viewer: Viewer
  decide: (approve: boolean) => () => Promise<void>
  leave: () => Promise<void>
}) {
  const { consent, viewer, decide, leave } = props
  const { appName, scopes, obstacle } = consent
  return (
    <View title={`Sign in to ${appName}?`} about={`You are ${viewer.email}.`}>
      {obstacle !== null && <Notice kind="warn" icon="ban" title="You can’t approve this" text={obstacle} />}
      <Facts consent={consent} />
      <div class="stack close">
        <h2>{appName} will be able to</h2>
        <ul>
          {scopes.map(({ name, meaning }) => (
            <li key={name} class="line tight row">
              <Icon name="check" class="good-text" />
              {permissionOf(name, meaning)} <small class="mono">{name}</small>
            </li>
          ))}
        </ul>
      </div>
      {obstacle === null && (
        <Action kind="primary" run={decide(true)}>
          Approve
        </Action>
      )}
      <Action kind="danger" run={decide(false)}>
        Deny
      </Action>
      <Action kind="quiet" run={leave}>
        Use another account
      </Action>
      <p class="faint">Approve only if you opened {appName} yourself a moment ago.</p>
    </View>
  )
}

function Facts({ consent }: { consent: Consent }) {
  const { appAccount, isOwn, accountName, returnsTo, device } = consent
  return (
    <dl class="kv">
      <dt>App of</dt>
      <dd>
        {appAccount}
        <span class={`badge ${isOwn ? 'good' : 'warn'}`}>{isOwn ? 'Your account' : 'Another account'}</span>
      </dd>
      {accountName !== '' && (
        <>
          <dt>Acts for</dt>
          <dd>{accountName}</dd>
        </>
      )}
      {device && (
        <>
          <dt>Device</dt>
          <dd>
            {device.name}
            {device.isNew && <span class="badge warn">Not in your account yet</span>}
          </dd>
          <dt>Device ID</dt>
          <dd class="mono">{device.nodeId.slice(0, 16)}…</dd>
        </>
      )}
      <dt>Returns to</dt>
      <dd class="mono">{returnsTo}</dd>
    </dl>
  )
}
