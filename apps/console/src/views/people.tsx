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
  const [invitation, setInvitation] = useState<{ link: string; expiresAt: string }>()
  const isOwner = viewer.role === 'owner'
  const invitations = useCall(async () => (isOwner ? api['invitation.list']() : []))
  return (
    <View title="People" error={error}>
      <ul class="plain card">
        {data?.map(({ personId, email, role, joinedAt }) => (
          <li key={personId}>
            <span>
              <strong>{email}</strong> <span class="chip">{role}</span>{' '}
              {personId === viewer.personId && '(you)'}
              <br />
              <small class="hint">
                since <Time of={joinedAt} />
              </small>
            </span>
            {isOwner && (
              <span class="actions">
                <Action
                  label={`${role === 'owner' ? 'Change to member' : 'Change to owner'}: ${email}`}
                  run={async () => {
                    await api['member.set_role']({ personId, role: role === 'owner' ? 'member' : 'owner' })
                    await reload()
                  }}
                >
                  {role === 'owner' ? 'Change to member' : 'Change to owner'}
                </Action>
                <Action
                  kind="danger"
                  label={`Remove ${email}`}
                  question={`Remove ${email} from the account? The tokens and sign-ins that this person made for it are revoked.`}
                  run={async () => {
                    await api['member.remove']({ personId })
                    await reload()
                  }}
                >
                  Remove
                </Action>
              </span>
            )}
          </li>
        ))}
      </ul>
      {isOwner ? (
        <Card title="Invite a person">
          <p>
            Members create projects and tokens, and see the devices. Owners also invite people, delete
            projects, and block or disassociate devices.
          </p>
          <Form
            submit="Create an invitation link"
            send={async (values) => {
              const role = values.get('role') === 'owner' ? 'owner' : 'member'
              setInvitation(await api['member.invite']({ role }))
              await invitations.reload()
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
          {invitation && (
            <>
              <p>
                Share this link with one person over a trusted channel. It works once, and expires{' '}
                <Time of={invitation.expiresAt} />.
              </p>
              <Copy label="Invitation link" text={invitation.link} />
            </>
          )}
          <ul class="plain">
            {invitations.data?.map(({ linkId, role, madeBy, expiresAt }) => (
              <li key={linkId}>
                <span>
                  Invitation of a new {role} by {madeBy}
                  <br />
                  <small class="hint">
                    expires <Time of={expiresAt} />
                  </small>
                </span>
                <Action
                  kind="danger"
                  label={`Revoke the invitation of a new ${role} by ${madeBy}`}
                  run={async () => {
                    await api['invitation.revoke']({ linkId })
                    await invitations.reload()
                  }}
                >
                  Revoke
                </Action>
              </li>
            ))}
          </ul>
        </Card>
      ) : (
        <p class="hint">Owners of the account can invite people.</p>
      )}
    </View>
  )
}
