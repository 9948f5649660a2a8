import { useEffect, useState } from 'preact/hooks'
import { api, explain } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Field, Form } from '../parts/form.tsx'
import { Link } from '../parts/link.tsx'
import { Time } from '../parts/time.tsx'
import { View } from '../parts/view.tsx'
import { useHome } from '../state/viewer.ts'

type Request = Awaited<ReturnType<(typeof api)['device_request.find']>>

/** Approves a sign-in from a terminal. A code in the link is only filled in: the person compares it and decides. */
export function DeviceRequestView() {
  const [given] = useState(() => new URLSearchParams(location.search).get('user_code') ?? '')
  const [request, setRequest] = useState<Request>()
  const [decided, setDecided] = useState<boolean>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    if (given === '') return
    api['device_request.find']({ userCode: given }).then(setRequest, (cause) => setError(explain(cause)))
  }, [given])

  if (decided !== undefined) return <Decided approved={decided} />
  if (request) return <Approval request={request} onDecided={setDecided} />
  return (
    <View title="Sign in a terminal" error={error}>
      <Form
        submit="Check the code"
        send={async (values) => {
          setRequest(await api['device_request.find']({ userCode: String(values.get('code')) }))
          setError(undefined)
        }}
      >
        <Field
          label="Code that the terminal shows"
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

function Decided({ approved }: { approved: boolean }) {
  return (
    <View title={approved ? 'The terminal is signed in' : 'The sign-in was refused'}>
      <p>{approved ? 'You can return to the terminal.' : 'The terminal shows the refusal.'}</p>
      <p>
        <Link to="/account">Sign-ins of your account</Link>
      </p>
    </View>
  )
}

/** Shows who requests the sign-in and what it allows, so that the person can decide. */
function Approval({ request, onDecided }: { request: Request; onDecided: (approved: boolean) => void }) {
  const { viewer } = useHome()
  const { userCode, clientName, clientId, scopes, address, userAgent, createdAt, isFromHere } = request
  const decide = (approve: boolean) => async () => {
    await api['device_request.decide']({ userCode, approve })
    onDecided(approve)
  }
  return (
    <View title="Sign in a terminal?">
      <p class="code">{userCode}</p>
      <p>
        Continue only if your own terminal shows this code and you started this sign-in yourself. No other
        person has a reason to ask you for it.
      </p>
      <dl class="card">
        <dt>Program</dt>
        <dd>
          {clientName} <code class="short">{clientId}</code>
        </dd>
        <dt>From</dt>
        <dd>
          {address}{' '}
          {isFromHere ? (
            <span class="chip online">same address as yours</span>
          ) : (
            <span class="chip blocked">different address from yours</span>
          )}
          <br />
          <small class="hint">{userAgent || 'unknown program'}</small>
        </dd>
        <dt>Requested</dt>
        <dd>
          <Time of={createdAt} />
        </dd>
        <dt>Account</dt>
        <dd>{viewer.accounts.find((each) => each.accountId === viewer.accountId)?.name}</dd>
        <dt>It will be able to</dt>
        <dd>
          <ul>
            {scopes.map(({ name, meaning }) => (
              <li key={name}>
                <code>{name}</code> {meaning}
              </li>
            ))}
          </ul>
        </dd>
      </dl>
      <p class="actions">
        <Action kind="primary" run={decide(true)}>
          Approve
        </Action>
        <Action kind="danger" run={decide(false)}>
          Refuse
        </Action>
      </p>
    </View>
  )
}
