import { api } from '../../api.ts'
import { CopyId } from '../../parts/copy.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { capital } from '../../parts/state.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card, View } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { DeveloperTokens } from './developer-tokens.tsx'
import { SignInMethods } from './sign-in-methods.tsx'
import { SignIns } from './sign-ins.tsx'

export default function AccountView() {
  const { viewer } = useHome()
  const projects = useCall(() => api['project.list']())
  const tokens = useCall(() => api['token.list']())
  const own = viewer.accounts.find((each) => each.accountId === viewer.accountId)
  return (
    <View title="Your account" error={projects.error ?? tokens.error}>
      <Card title="Profile">
        <dl class="kv">
          <dt>Email</dt>
          <dd>{viewer.email}</dd>
          <dt>Role</dt>
          <dd>
            {capital(viewer.role)} of {own?.name}
          </dd>
          <dt>Account ID</dt>
          <dd>
            <CopyId text={viewer.accountId} label="Account ID" />
          </dd>
        </dl>
      </Card>
      <SignInMethods />
      <SignIns />
      <DeveloperTokens projects={projects.data} tokens={tokens} />
      {viewer.role === 'owner' && <RevokeAll onRevoked={tokens.reload} />}
    </View>
  )
}

function RevokeAll({ onRevoked }: { onRevoked: () => Promise<void> }) {
  const text =
    'Every developer token and every sign-in of a terminal. Devices stay connected; programs must sign in again.'
  return (
    <Card title="Danger zone" kind="danger-zone" flush>
      <ul class="rows">
        <li>
          <div>
            <strong>Revoke all tokens of the account</strong>
            <small>{text}</small>
          </div>
          <Guarded
            title="Revoke all tokens?"
            typed="revoke all"
            consequence={text}
            run={async () => {
              await api['account.revoke_all']()
              await onRevoked()
              tell('All tokens are revoked')
            }}
          >
            Revoke all
          </Guarded>
        </li>
      </ul>
    </Card>
  )
}
