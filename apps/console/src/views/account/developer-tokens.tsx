import type { ConsoleProject } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { Link } from '../../parts/link.tsx'
import { Time } from '../../parts/time.tsx'
import { TokenMaker } from '../../parts/token-maker.tsx'
import { Card, Empty, Scroll } from '../../parts/view.tsx'
import type { Call } from '../../state/use-call.ts'

type Tokens = Awaited<ReturnType<(typeof api)['token.list']>>

/** Creates developer ID tokens for active projects, and lists and revokes those of the account. */
export function DeveloperTokens({
  projects,
  tokens: { data: tokens, reload },
}: {
  projects: readonly ConsoleProject[] | undefined
  tokens: Call<Tokens>
}) {
  const active = projects?.filter((each) => each.active) ?? []
  return (
    <Card title="Developer ID tokens">
      {projects && active.length === 0 && (
        <Empty>
          <p>
            A developer ID token is for a project, and this account has no active project yet.{' '}
            <Link to="/projects">Create a project</Link> first.
          </p>
        </Empty>
      )}
      {active.length > 0 && <TokenMaker projects={active} onMade={reload} />}
      {tokens && tokens.length > 0 && (
        <Scroll label="Developer ID tokens that were issued">
          <table>
            <thead>
              <tr>
                <th>Project</th>
                <th>Created</th>
                <th>By</th>
                <th>Last used</th>
                <th>Expires</th>
                <th>
                  <span class="unseen">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tokens.map((token) => (
                <TokenRow key={token.jti} token={token} onRevoked={reload} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  )
}

function TokenRow({ token, onRevoked }: { token: Tokens[number]; onRevoked: () => Promise<void> }) {
  return (
    <tr>
      <td>{token.projectName}</td>
      <td>
        <Time of={token.issuedAt} />
      </td>
      <td>{token.madeBy}</td>
      <td>{token.lastUsedAt ? <Time of={token.lastUsedAt} /> : 'never'}</td>
      <td>
        <Time of={token.expiresAt} />
      </td>
      <td>
        {token.revokedAt ? (
          <span class="chip away">revoked</span>
        ) : (
          <Action
            kind="danger"
            label={`Revoke the token for ${token.projectName}`}
            run={async () => {
              await api['token.revoke']({ jti: token.jti })
              await onRevoked()
            }}
          >
            Revoke
          </Action>
        )}
      </td>
    </tr>
  )
}
