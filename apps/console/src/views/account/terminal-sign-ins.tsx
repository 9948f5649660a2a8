import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Time } from '../../parts/time.tsx'
import { Card, Empty } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

/** The sign-ins of command lines, each with a button to revoke it. */
export function TerminalSignIns() {
  const { data, reload } = useCall(() => api['sign_in.list']())
  return (
    <Card title="Sign-ins of terminals and devices">
      {data?.length === 0 && (
        <Empty>
          <p>On a machine with the command line, sign in without copying a token:</p>
          <Copy label="Command that signs a terminal in" text="npx selvedge login" />
        </Empty>
      )}
      <ul class="plain">
        {data?.map(({ sid, projectName, email, described, lastUsedAt, expiresAt }) => (
          <li key={sid}>
            <span>
              <strong>{projectName}</strong>, {described}, by {email}
              <br />
              <small class="hint">
                used <Time of={lastUsedAt} />, expires <Time of={expiresAt} />
              </small>
            </span>
            <Action
              kind="danger"
              label={`Revoke the sign-in of ${described}`}
              run={async () => {
                await api['sign_in.revoke']({ sid })
                await reload()
              }}
            >
              Revoke
            </Action>
          </li>
        ))}
      </ul>
    </Card>
  )
}
