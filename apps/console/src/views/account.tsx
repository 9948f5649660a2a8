import { minPasswordLength } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Copy } from '../parts/copy.tsx'
import { Field, Form } from '../parts/form.tsx'
import { Link } from '../parts/link.tsx'
import { SessionList } from '../parts/session-list.tsx'
import { Time } from '../parts/time.tsx'
import { TokenMaker } from '../parts/token-maker.tsx'
import { Card, Empty, Scroll, View } from '../parts/view.tsx'
import { addPasskey, deviceName } from '../passkeys.ts'
import { useCall } from '../state/use-call.ts'
import { useHome } from '../state/viewer.ts'

export function AccountView() {
  const { viewer } = useHome()
  const projects = useCall(() => api['project.list']())
  const tokens = useCall(() => api['token.list']())
  const active = projects.data?.filter((each) => each.active) ?? []
  return (
    <View title="Account" error={projects.error ?? tokens.error}>
      <Card title="You">
        <dl>
          <dt>E-mail address</dt>
          <dd>{viewer.email}</dd>
          <dt>Role</dt>
          <dd>{viewer.role}</dd>
          <dt>Account ID</dt>
          <dd>
            <code>{viewer.accountId}</code>
          </dd>
        </dl>
      </Card>
      <Card title="Developer ID tokens">
        {projects.data && active.length === 0 ? (
          <Empty>
            <p>
              A developer ID token is for a project, and this account has no project yet.{' '}
              <Link to="/projects">Create a project</Link> first.
            </p>
          </Empty>
        ) : (
          active.length > 0 && <TokenMaker projects={active} onMade={tokens.reload} />
        )}
        {tokens.data && tokens.data.length > 0 && (
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
                {tokens.data.map((token) => (
                  <tr key={token.jti}>
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
                            await tokens.reload()
                          }}
                        >
                          Revoke
                        </Action>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
      </Card>
      <SignIns />
      <Passkeys />
      <Card title="Where you are signed in">
        <SessionList />
      </Card>
      {viewer.role === 'owner' && (
        <Card title="Revoke everything">
          <p>
            Revokes every developer ID token of the account, every sign-in of a terminal, and every access
            token that was issued with them. Devices stay associated; their programs need new tokens.
          </p>
          <Action
            kind="danger"
            question="Revoke every token of the account?"
            run={async () => {
              await api['account.revoke_all']()
              await tokens.reload()
            }}
          >
            Revoke every token
          </Action>
        </Card>
      )}
    </View>
  )
}

function SignIns() {
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

function Passkeys() {
  const { viewer, refresh } = useHome()
  const { data, reload } = useCall(() => api['passkey.list']())
  const [codes, setCodes] = useState<readonly string[]>()
  const both = async () => {
    await reload()
    await refresh()
  }
  return (
    <Card title="Sign-in methods">
      <ul class="plain">
        {data?.map(({ credentialId, name, createdAt, lastUsedAt }) => (
          <li key={credentialId}>
            <span>
              <strong>{name}</strong>
              <br />
              <small class="hint">
                passkey, created <Time of={createdAt} />, {lastUsedAt ? 'used ' : 'never used'}
                {lastUsedAt && <Time of={lastUsedAt} />}
              </small>
            </span>
            <Action
              kind="danger"
              label={`Remove the passkey ${name}`}
              question={`Remove the passkey “${name}”?`}
              run={async () => {
                await api['passkey.remove']({ credentialId })
                await both()
              }}
            >
              Remove
            </Action>
          </li>
        ))}
      </ul>
      <details>
        <summary>Add a passkey</summary>
        <Form
          submit="Add a passkey"
          send={async (values) => {
            await addPasskey(String(values.get('name')))
            await both()
          }}
        >
          <Field label="Name of the passkey" name="name" value={deviceName()} required maxLength={60} />
        </Form>
      </details>
      <details>
        <summary>{viewer.hasPassword ? 'Change the password' : 'Set a password'}</summary>
        <Form
          submit="Set the password"
          kind=""
          send={async (values) => {
            await api['password.set']({ password: String(values.get('password')) })
            await refresh()
          }}
        >
          <input type="hidden" name="username" autocomplete="username" value={viewer.email} />
          <Field
            label="New password"
            name="password"
            type="password"
            autocomplete="new-password"
            required
            hint={`At least ${minPasswordLength} characters. Your other sessions are signed out.`}
          />
        </Form>
      </details>
      <details>
        <summary>Recovery codes ({viewer.recoveryCodes} left)</summary>
        <p>
          Ten codes, for the case that you lose your other sign-in methods. Each works once. New codes replace
          the old ones.
        </p>
        <Action
          run={async () => {
            setCodes((await api['recovery.create']()).codes)
            await refresh()
          }}
        >
          Create recovery codes
        </Action>
        {codes && <Copy label="Recovery codes" text={codes.join('\n')} />}
      </details>
    </Card>
  )
}
