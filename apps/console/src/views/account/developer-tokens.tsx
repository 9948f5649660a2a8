import type { ConsoleProject } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { Guarded } from '../../parts/guarded.tsx'
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
    <Card
      title="Developer tokens"
      about="A developer token lets a program act for you on your devices until it expires."
      action={active.length > 0 && <TokenMaker projects={active} onMade={reload} />}
      flush
    >
      {projects && active.length === 0 && (
        <Empty icon="layers" title="No project yet" text="A developer token is for a project.">
          <Link to="/projects" class="btn">
            Projects
          </Link>
        </Empty>
      )}
      {active.length > 0 && tokens?.length === 0 && (
        <Empty
          icon="key-round"
          title="No developer tokens yet"
          text="Create one for a program that connects devices or calls their services."
        />
      )}
      {tokens && tokens.length > 0 && (
        <Scroll label="Table of developer tokens">
          <table class="table cards-narrow">
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
  const { jti, projectName, issuedAt, madeBy, lastUsedAt, expiresAt, revokedAt } = token
  return (
    <tr>
      <td class="main">{projectName}</td>
      <td class="soft">
        <Time of={issuedAt} />
      </td>
      <td class="soft">{madeBy}</td>
      <td class="soft">{lastUsedAt ? <Time of={lastUsedAt} /> : 'Never used'}</td>
      <td class="soft">
        <Time of={expiresAt} />
      </td>
      <td class="right">
        {revokedAt ? (
          <span class="badge">Revoked</span>
        ) : (
          <Guarded
            kind="quiet"
            label={`Revoke the token for ${projectName}`}
            title={`Revoke this token for ${projectName}?`}
            consequence="Programs that use it must get another one."
            run={async () => {
              await api['token.revoke']({ jti })
              await onRevoked()
            }}
          >
            Revoke
          </Guarded>
        )}
      </td>
    </tr>
  )
}
