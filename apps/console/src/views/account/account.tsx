import { api } from '../../api.ts'
import { CopyId } from '../../parts/copy.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { capital } from '../../parts/state.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card, View } from '../../parts/view.tsx'
import { type Call, useCall } from '../../state/use-call.ts'
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
      {viewer.role === 'owner' && <RevokeAll tokens={tokens} />}
    </View>
  )
}

function RevokeAll({ tokens }: { tokens: Call<Awaited<ReturnType<(typeof api)['token.list']>>> }) {
  const signIns = useCall(() => api['sign_in.list']())
  const valid = tokens.data?.filter(({ revokedAt }) => revokedAt === null).length ?? 0
  const text = `${count(valid, 'developer token')} and ${count(signIns.data?.length ?? 0, 'terminal sign-in')}. Devices stay connected; programs must sign in again.`
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
              await Promise.all([tokens.reload(), signIns.reload()])
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

const count = (number: number, what: string): string =>
  `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`
