import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Copy } from '../parts/copy.tsx'
import { Form } from '../parts/form.tsx'
import { Time } from '../parts/time.tsx'
import { Card, View } from '../parts/view.tsx'
import { useCall } from '../state/use-call.ts'
import { useHome } from '../state/viewer.ts'

export function PeopleView() {
  const { viewer } = useHome()
  const { data, error, reload } = useCall(() => api['member.list']())
  const isOwner = viewer.role === 'owner'
  return (
    <View title="People" error={error}>
      <ul class="plain card">
        {data?.map((member) => (
          <li key={member.personId}>
            <span>
              <strong>{member.email}</strong> <span class="chip">{member.role}</span>{' '}
              {member.personId === viewer.personId && '(you)'}
              <br />
              <small class="hint">
                since <Time of={member.joinedAt} />
              </small>
            </span>
            {isOwner && <MemberActions member={member} onChanged={reload} />}
          </li>
        ))}
      </ul>
      {isOwner ? <Invitations /> : <p class="hint">Owners of the account can invite people.</p>}
    </View>
  )
}

type Member = Awaited<ReturnType<(typeof api)['member.list']>>[number]

function MemberActions({
  member: { personId, email, role },
  onChanged,
}: {
  member: Member
  onChanged: () => Promise<void>
}) {
  const otherRole = role === 'owner' ? 'member' : 'owner'
  return (
    <span class="actions">
      <Action
        label={`Change to ${otherRole}: ${email}`}
        run={async () => {
          await api['member.set_role']({ personId, role: otherRole })
          await onChanged()
        }}
      >
        Change to {otherRole}
      </Action>
      <Action
        kind="danger"
        label={`Remove ${email}`}
        question={`Remove ${email} from the account? The tokens and sign-ins that this person made for it are revoked.`}
        run={async () => {
          await api['member.remove']({ personId })
          await onChanged()
        }}
      >
        Remove
      </Action>
    </span>
  )
}

/** Creates, lists and revokes invitation links. For owners. */
function Invitations() {
  const [created, setCreated] = useState<{ link: string; expiresAt: string }>()
  const { data, reload } = useCall(() => api['invitation.list']())
  return (
    <Card title="Invite a person">
      <p>
        Members create projects and tokens, and see the devices. Owners also invite people, delete projects,
        and block or disassociate devices.
      </p>
      <Form
        submit="Create an invitation link"
        send={async (values) => {
          const role = values.get('role') === 'owner' ? 'owner' : 'member'
          setCreated(await api['member.invite']({ role }))
          await reload()
        }}
      >
        <p class="field">
          <label for="role">Role</label>
          <select id="role" name="role">
            <option value="member">member</option>
            <option value="owner">owner</option>
          </select>
        </p>
      </Form>
      {created && (
        <>
          <p>
            Share this link with one person over a trusted channel. It works once, and expires{' '}
            <Time of={created.expiresAt} />.
          </p>
          <Copy label="Invitation link" text={created.link} />
        </>
      )}
      <ul class="plain">
        {data?.map(({ linkId, role, madeBy, expiresAt }) => (
          <li key={linkId}>
            <span>
              Invitation for a new {role}, created by {madeBy}
              <br />
              <small class="hint">
                expires <Time of={expiresAt} />
              </small>
            </span>
            <Action
              kind="danger"
              label={`Revoke the invitation for a new ${role}, created by ${madeBy}`}
              run={async () => {
                await api['invitation.revoke']({ linkId })
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
