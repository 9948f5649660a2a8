import { api } from '../../api.ts'
import { Action } from '../../parts/action.tsx'
import { SessionList } from '../../parts/session-list.tsx'
import { Card, View } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { DeveloperTokens } from './developer-tokens.tsx'
import { SignInMethods } from './sign-in-methods.tsx'
import { TerminalSignIns } from './terminal-sign-ins.tsx'

export function AccountView() {
  const { viewer } = useHome()
  const projects = useCall(() => api['project.list']())
  const tokens = useCall(() => api['token.list']())
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
      <DeveloperTokens projects={projects.data} tokens={tokens} />
      <TerminalSignIns />
      <SignInMethods />
      <Card title="Where you are signed in">
        <SessionList />
      </Card>
      {viewer.role === 'owner' && <RevokeAll onRevoked={tokens.reload} />}
    </View>
  )
}

function RevokeAll({ onRevoked }: { onRevoked: () => Promise<void> }) {
  return (
    <Card title="Revoke everything">
      <p>
        Revokes every developer ID token of the account, every sign-in of a terminal, and every access token
        that was issued with them. Devices stay associated; their programs need new tokens.
      </p>
      <Action
        kind="danger"
        question="Revoke every token of the account?"
        run={async () => {
          await api['account.revoke_all']()
          await onRevoked()
        }}
      >
        Revoke every token
      </Action>
    </Card>
  )
}
