import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { capital } from '../parts/capital.ts'
import { Copy } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Select } from '../parts/form.tsx'
import { Guarded } from '../parts/guarded.tsx'
import { Icon } from '../parts/icon.tsx'
import { lazyView } from '../parts/lazy-view.tsx'
import { exactTime, Time } from '../parts/time.tsx'
import { Bones, Card, Scroll, View } from '../parts/view.tsx'
import { useCall } from '../state/use-call.ts'
import { useHome } from '../state/viewer.ts'

const Groups = lazyView(() => import('./groups.tsx'))

export default function PeopleView() {
  const { viewer } = useHome()
  const { data, error, reload } = useCall(() => api['member.list']())
  const isOwner = viewer.role === 'owner'
  const invitations = useCall(async () => (isOwner ? api['invitation.list']() : []))
  // The parts of the page come together, so that they do not move each other.
  const isReady = data !== undefined && invitations.data !== undefined
  return (
    <View
      title="People"
      about="Everyone who can use this account."
      actions={isOwner && <Invite onInvited={invitations.reload} />}
      error={error}
    >
      {!isReady && !error && <Bones of="rows" />}
      {isReady && (
        <Card title="Members" flush>
          <ul class="rows">
            {data?.map((member) => (
              <MemberRow key={member.personId} member={member} canManage={isOwner} onChanged={reload} />
            ))}
          </ul>
        </Card>
      )}
      {invitations.data && invitations.data.length > 0 && (
        <Invitations invitations={invitations.data} onRevoked={invitations.reload} />
      )}
      {isReady && <Roles />}
      {isReady && isOwner && <Groups />}
      {!isOwner && <p class="faint">Only owners can invite.</p>}
    </View>
  )
}

type Member = Awaited<ReturnType<(typeof api)['member.list']>>[number]

function MemberRow(props: { member: Member; canManage: boolean; onChanged: () => Promise<void> }) {
  const {
    member: { personId, email, role, joinedAt },
    canManage,
    onChanged,
  } = props
  const { viewer } = useHome()
  const otherRole = role === 'owner' ? 'member' : 'owner'
  return (
    <li>
      <span class="avatar" aria-hidden="true">
        {email.slice(0, 2).toUpperCase()}
      </span>
      <div>
        <strong>{email}</strong> {personId === viewer.personId && <span class="faint">you</span>}
        <small>
          {capital(role)} · joined <Time of={joinedAt} />
        </small>
      </div>
      {canManage && (
        <span class="line tight">
          <Action
            kind="quiet"
            label={`Make ${otherRole}: ${email}`}
            run={async () => {
              await api['member.set_role']({ personId, role: otherRole })
              await onChanged()
            }}
          >
            Make {otherRole}
          </Action>
          <Guarded
            kind="quiet"
            label={`Remove ${email}`}
            title={`Remove ${email} from the account?`}
            consequence="The developer tokens and sign-ins that this person made for the account are revoked."
            run={async () => {
              await api['member.remove']({ personId })
              await onChanged()
            }}
          >
            Remove
          </Guarded>
        </span>
      )}
    </li>
  )
}

/** Creates an invitation link and shows it once. For owners. */
function Invite({ onInvited }: { onInvited: () => Promise<void> }) {
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<{ link: string; expiresAt: string }>()
  const close = () => {
    setOpen(false)
    setCreated(undefined)
  }
  return (
    <>
      <button type="button" class="btn primary" onClick={() => setOpen(true)}>
        <Icon name="user-plus" />
        Invite
      </button>
      {isOpen && (
        <Dialog title="Invite a person" closing={created ? 'Done' : 'Cancel'} onClose={close}>
          {created ? (
            <>
              <p>
                Send this link to one person. It works once and expires on {exactTime(created.expiresAt)}.
              </p>
              <Copy label="Invitation link" text={created.link} />
            </>
          ) : (
            <Form
              submit="Create invitation link"
              send={async (values) => {
                const role = values.get('role') === 'owner' ? 'owner' : 'member'
                setCreated(await api['member.invite']({ role }))
                await onInvited()
              }}
            >
              <Select
                label="Role"
                name="role"
                options={[
                  ['member', 'Member'],
                  ['owner', 'Owner'],
                ]}
              />
            </Form>
          )}
        </Dialog>
      )}
    </>
  )
}

type Invitation = Awaited<ReturnType<(typeof api)['invitation.list']>>[number]

function Invitations(props: { invitations: readonly Invitation[]; onRevoked: () => Promise<void> }) {
  const { invitations, onRevoked } = props
  return (
    <Card title="Open invitations" flush>
      <ul class="rows">
        {invitations.map(({ linkId, role, madeBy, expiresAt }) => (
          <li key={linkId}>
            <span class="glyph">
              <Icon name="mail" />
            </span>
            <div>
              <strong>{capital(role)}</strong>
              <small>
                by {madeBy} · expires <Time of={expiresAt} />
              </small>
            </div>
            <Action
              kind="quiet"
              label={`Withdraw the invitation for a new ${role}, created by ${madeBy}`}
              run={async () => {
                await api['invitation.revoke']({ linkId })
                await onRevoked()
              }}
            >
              Withdraw
            </Action>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const permissions = [
  ['See devices, create projects and tokens', true],
  ['Block or remove devices', false],
  ['Delete projects', false],
  ['Invite people, change roles', false],
  ['Share services, manage groups', false],
] as const

const Yes = () => (
  <>
    <Icon name="check" class="good-text" />
    <span class="unseen">Yes</span>
  </>
)
const No = () => (
  <>
    <span class="faint" aria-hidden="true">
      —
    </span>
    <span class="unseen">No</span>
  </>
)

const Roles = () => (
  <Card title="What each role can do" flush>
    <Scroll label="Table of roles">
      <table class="table">
        <thead>
          <tr>
            <th>Permission</th>
            <th>Member</th>
            <th>Owner</th>
          </tr>
        </thead>
        <tbody>
          {permissions.map(([permission, isOfMembers]) => (
            <tr key={permission}>
              <td>{permission}</td>
              <td>{isOfMembers ? <Yes /> : <No />}</td>
              <td>
                <Yes />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  </Card>
)
