import { api } from '../../api.ts'
import { capital } from '../../parts/capital.ts'
import { CopyId } from '../../parts/copy.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { tell } from '../../parts/toast.tsx'
import { Bones, Card, View } from '../../parts/view.tsx'
import { type Call, useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { DeveloperTokens } from './developer-tokens.tsx'
import { SignInMethods } from './sign-in-methods.tsx'
import { SignIns, type Terminals } from './sign-ins.tsx'

const Companies = lazyView(() => import('./companies.tsx'))

export default function AccountView() {
  const { viewer } = useHome()
  const projects = useCall(() => api['project.list']())
  const tokens = useCall(() => api['token.list']())
  const passkeys = useCall(() => api['passkey.list']())
  const sessions = useCall(() => api['session.list']())
  const terminals = useCall(() => api['sign_in.list']())
  const companies = useCall(() => api['company.list']())
  const all = [projects, tokens, passkeys, sessions, terminals, companies]
  const error = all.find((each) => each.error)?.error
  // The parts of the page come together, so that no part moves the others.
  if (all.some(({ data }) => data === undefined))
    return (
      <View title="Your account" error={error}>
        {!error && <Bones of="rows" />}
      </View>
    )
  const own = viewer.accounts.find((each) => each.accountId === viewer.accountId)
  return (
    <View title="Your account" error={error}>
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
      <SignInMethods passkeys={passkeys} />
      {companies.data && companies.data.length > 0 && (
        <Companies companies={companies.data} onChanged={companies.reload} />
      )}
      <SignIns sessions={sessions} terminals={terminals} />
      <DeveloperTokens projects={projects.data} tokens={tokens} />
      {viewer.role === 'owner' && <RevokeAll tokens={tokens} signIns={terminals} />}
    </View>
  )
}

interface RevokeAllProps {
  readonly tokens: Call<Awaited<ReturnType<(typeof api)['token.list']>>>
  readonly signIns: Call<Terminals>
}

function RevokeAll({ tokens, signIns }: RevokeAllProps) {
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
