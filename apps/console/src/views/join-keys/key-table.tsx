import type { JoinKeyEnding, ShownJoinKey } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { count } from '../../parts/count.ts'
import { Guarded } from '../../parts/guarded.tsx'
import { Tags } from '../../parts/tags.tsx'
import { Time } from '../../parts/time.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card, Scroll } from '../../parts/view.tsx'

const endings: Readonly<Record<JoinKeyEnding, string>> = {
  revoked: 'Revoked',
  expired: 'Expired',
  maker: 'Creator is no owner',
  project: 'Project is off',
  used_up: 'Used up',
}

interface KeysProps {
  readonly keys: readonly ShownJoinKey[]
  readonly onChanged: () => Promise<void>
}

export const KeyTable = ({ keys, onChanged }: KeysProps) => (
  <Card title="Keys" flush>
    <Scroll label="Table of join keys">
      <table class="table cards-narrow">
        <thead>
          <tr>
            <th>Key</th>
            <th>Devices</th>
            <th>Created</th>
            <th>Expires</th>
            <th>
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <KeyRow key={key.keyId} of={key} onChanged={onChanged} />
          ))}
        </tbody>
      </table>
    </Scroll>
  </Card>
)

const titleOf = ({ title, keyId }: ShownJoinKey): string => title || `Key ${keyId.slice(0, 8)}`

function KeyRow({ of, onChanged }: { of: ShownJoinKey; onChanged: () => Promise<void> }) {
  const { name, tags, uses, used, waiting, approve, madeBy, createdAt, expiresAt, ending } = of
  return (
    <tr>
      <td class="main">
        <strong>{titleOf(of)}</strong> {ending && <span class="badge">{endings[ending]}</span>}
        {!ending && approve && <span class="badge">Needs approval</span>}
        {(name !== '' || tags.length > 0) && (
          <div class="line tight">
            {name !== '' && <small class="mono">{name}</small>}
            <Tags tags={tags} />
          </div>
        )}
      </td>
      <td class="num">
        {used.toLocaleString('en')} of {uses.toLocaleString('en')}
        {waiting > 0 && ` · ${waiting.toLocaleString('en')} waiting`}
      </td>
      <td class="soft">
        <Time of={createdAt} /> by {madeBy || 'a person who left'}
      </td>
      <td class="soft">
        <Time of={expiresAt} />
      </td>
      <td class="right">
        <Revoke of={of} onChanged={onChanged} />
      </td>
    </tr>
  )
}

/** Revokes a key, alone or with its devices: also those of a key that was revoked before. */
function Revoke({ of, onChanged }: { of: ShownJoinKey; onChanged: () => Promise<void> }) {
  const { keyId, used, waiting, ending } = of
  const title = titleOf(of)
  const revoke = (devices: boolean) => async () => {
    const { blocked, toBlock } = await api['join_key.revoke']({ keyId, devices })
    await onChanged()
    const later = toBlock > 0 ? `, ${count(toBlock)} more within minutes` : ''
    tell(devices ? `${count(blocked)} blocked${later}` : 'The join key was revoked')
  }
  const refused = waiting > 0 ? ` ${count(waiting)} that wait are refused.` : ''
  return (
    <span class="line tight">
      {ending !== 'revoked' && (
        <Guarded
          kind="quiet"
          label={`Revoke ${title}`}
          title={`Revoke ${title}?`}
          consequence={`No device joins by it any more.${refused} Devices that joined stay.`}
          run={revoke(false)}
        >
          Revoke
        </Guarded>
      )}
      {used > 0 && (
        <Guarded
          kind="quiet"
          label={`Block devices of ${title}`}
          title={`Block the devices of ${title}?`}
          consequence={`The key is revoked.${refused} Every device that joined by it is blocked, and gets no tokens until you unblock it.`}
          typed={title}
          run={revoke(true)}
        >
          Block devices
        </Guarded>
      )}
    </span>
  )
}
