import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { explain } from '../../failures.ts'
import { Action } from '../../parts/action.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Link } from '../../parts/link.tsx'
import { permissionOf } from '../../parts/permissions.ts'
import { Time } from '../../parts/time.tsx'
import { View } from '../../parts/view.tsx'
import { useHome } from '../../state/viewer.ts'
import '../../parts/meter.css'

type Request = Awaited<ReturnType<(typeof api)['device_request.find']>>

/** Approves a sign-in from a terminal. A code in the link is only filled in: the person compares it and decides. */
export default function TerminalView() {
  const [given] = useState(() => new URLSearchParams(location.search).get('user_code') ?? '')
  const [request, setRequest] = useState<Request>()
  const [decided, setDecided] = useState<boolean>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    if (given === '') return
    api['device_request.find']({ userCode: given }).then(setRequest, async (cause) =>
      setError(await explain(cause)),
    )
  }, [given])

  if (decided !== undefined) return <Decided approved={decided} />
  if (request) return <Approval request={request} onDecided={setDecided} />
  return (
    <View title="Sign in a terminal" error={error}>
      <Form
        submit="Continue"
        send={async (values) => {
          setRequest(await api['device_request.find']({ userCode: String(values.get('code')) }))
          setError(undefined)
        }}
      >
        <Field
          label="Code from your terminal"
          name="code"
          value={given}
          required
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          placeholder="BCDF-GHJK"
          maxLength={20}
        />
      </Form>
    </View>
  )
}

const Decided = ({ approved }: { approved: boolean }) => (
  <View
    title={approved ? 'Approved' : 'Denied'}
    about={approved ? 'Go back to your terminal.' : 'The terminal can’t sign in with this code.'}
  >
    <Link to="/account" class="btn">
      Your sign-ins
    </Link>
  </View>
)

/** Shows who requests the sign-in and what it allows, so that the person can decide. */
function Approval({ request, onDecided }: { request: Request; onDecided: (approved: boolean) => void }) {
  const { userCode, scopes } = request
  const decide = (approve: boolean) => async () => {
    await api['device_request.decide']({ userCode, approve })
    onDecided(approve)
  }
  return (
    <View
      title="Approve this sign-in?"
      about="Approve only if your own terminal shows this code and you started it."
    >
      <div class="card stat">
        <span class="soft">Code</span>
        <span class="bigcode">{userCode}</span>
      </div>
      <Origin request={request} />
      <div class="stack close">
        <h2>It will be able to</h2>
        <ul>
          {scopes.map(({ name, meaning }) => (
            <li key={name} class="line tight row">
              <Icon name="check" class="good-text" />
              <span>
                {permissionOf(name, meaning)} <small class="mono faint">{name}</small>
              </span>
            </li>
          ))}
        </ul>
      </div>
      <Action kind="primary" run={decide(true)}>
        Approve
      </Action>
      <Action kind="danger" run={decide(false)}>
        Deny
      </Action>
      <p class="faint">Nobody from support will ever ask you to approve a code.</p>
    </View>
  )
}

function Origin({ request }: { request: Request }) {
  const { viewer } = useHome()
  const { clientName, address, userAgent, createdAt, isFromHere } = request
  return (
    <dl class="kv">
      <dt>Program</dt>
      <dd>{clientName}</dd>
      <dt>From</dt>
      <dd>
        {address}
        <span class={`badge ${isFromHere ? 'good' : 'warn'}`}>
          {isFromHere ? 'Same address as you' : 'Different address'}
        </span>
      </dd>
      <dt>Terminal</dt>
      <dd>{userAgent || 'Unknown program'}</dd>
      <dt>Asked</dt>
      <dd>
        <Time of={createdAt} />
      </dd>
      <dt>Account</dt>
      <dd>{viewer.accounts.find((each) => each.accountId === viewer.accountId)?.name}</dd>
    </dl>
  )
}
