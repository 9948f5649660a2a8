import { api } from '../api.ts'
import { useCall } from '../state/use-call.ts'
import { Action } from './action.tsx'
import { Time } from './time.tsx'

/** Sessions of the person, each with a button to sign it out. */
export function SessionList() {
  const { data, reload } = useCall(() => api['session.list']())
  return (
    <ul class="plain">
      {data?.map(({ sessionId, isCurrent, method, lastSeenAt, address, userAgent }) => (
        <li key={sessionId}>
          <span>
            <strong>{address}</strong> {isCurrent && <span class="chip online">this one</span>}
            <br />
            <small class="hint">
              {userAgent || 'unknown program'}; by {method}, last seen <Time of={lastSeenAt} />
            </small>
          </span>
          {!isCurrent && (
            <Action
              kind="danger"
              label={`Sign out the session from ${address}`}
              run={async () => {
                await api['session.revoke']({ sessionId })
                await reload()
              }}
            >
              Sign out
            </Action>
          )}
        </li>
      ))}
    </ul>
  )
}
