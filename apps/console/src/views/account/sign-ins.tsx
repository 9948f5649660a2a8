import { api } from '../../api.ts'
import { Guarded } from '../../parts/guarded.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Time } from '../../parts/time.tsx'
import { Card } from '../../parts/view.tsx'
import type { Call } from '../../state/use-call.ts'
import { browserOf } from './browser-of.ts'

type Sessions = Awaited<ReturnType<(typeof api)['session.list']>>
export type Terminals = Awaited<ReturnType<(typeof api)['sign_in.list']>>

/** Browsers and terminals that are signed in, each with a button that signs it out. */
export function SignIns({ sessions, terminals }: { sessions: Call<Sessions>; terminals: Call<Terminals> }) {
  return (
    <Card title="Where you’re signed in" flush>
      <ul class="rows">
        {sessions.data?.map((session) => (
          <SessionRow key={session.sessionId} session={session} onEnded={sessions.reload} />
        ))}
        {terminals.data?.map((terminal) => (
          <TerminalRow key={terminal.sid} terminal={terminal} onEnded={terminals.reload} />
        ))}
      </ul>
      {terminals.data?.length === 0 && (
        <footer>
          <Icon name="terminal" />
          <span>
            Sign in from a terminal: <code>selvedge login</code>
          </span>
        </footer>
      )}
    </Card>
  )
}

function SessionRow(props: { session: Sessions[number]; onEnded: () => Promise<void> }) {
  const {
    session: { sessionId, isCurrent, method, lastSeenAt, address, userAgent },
    onEnded,
  } = props
  return (
    <li>
      <span class="glyph">
        <Icon name="monitor" />
      </span>
      <div>
        <strong title={userAgent}>{browserOf(userAgent)}</strong>{' '}
        {isCurrent && <span class="badge good">This browser</span>}
        <small>
          {address} · {method} · <Time of={lastSeenAt} />
        </small>
      </div>
      {!isCurrent && (
        <Guarded
          kind="quiet"
          label={`Sign out the session from ${address}`}
          title="Sign out this browser?"
          consequence={`${browserOf(userAgent)} at ${address} must sign in again.`}
          run={async () => {
            await api['session.revoke']({ sessionId })
            await onEnded()
          }}
        >
          Sign out
        </Guarded>
      )}
    </li>
  )
}

function TerminalRow(props: { terminal: Terminals[number]; onEnded: () => Promise<void> }) {
  const {
    terminal: { sid, projectName, email, described, lastUsedAt, expiresAt },
    onEnded,
  } = props
  return (
    <li>
      <span class="glyph">
        <Icon name="terminal" />
      </span>
      <div>
        <strong>{described}</strong>
        <small>
          {projectName} · by {email} · used <Time of={lastUsedAt} /> · expires <Time of={expiresAt} />
        </small>
      </div>
      <Guarded
        kind="quiet"
        label={`Revoke the sign-in of ${described}`}
        title="Sign out this terminal?"
        consequence={`${described} must sign in again.`}
        run={async () => {
          await api['sign_in.revoke']({ sid })
          await onEnded()
        }}
      >
        Sign out
      </Guarded>
    </li>
  )
}
