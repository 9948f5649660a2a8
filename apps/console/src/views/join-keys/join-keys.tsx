import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Bones, Card, Empty, View } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'
import { useNews } from '../../state/use-news.ts'
import { useHome } from '../../state/viewer.ts'
import { ApprovalRule } from './approval-rule.tsx'
import { KeyTable } from './key-table.tsx'
import { Waiting } from './waiting.tsx'

const MakeKey = lazyView(() => import('./make-key.tsx'))

const about = 'With a key, devices join the account by themselves.'

export default function JoinKeysView() {
  const { viewer } = useHome()
  if (viewer.role === 'owner') return <OwnersView />
  return (
    <View title="Join keys" about={about} parent={['/devices', 'Devices']}>
      <p class="faint">Only owners see and create join keys.</p>
    </View>
  )
}

function OwnersView() {
  const [isOpen, setOpen] = useState(false)
  const keys = useCall(() => api['join_key.list']())
  const waiting = useCall(() => api['join.waiting']())
  const rules = useCall(() => api['join.rules']())
  const reload = async () => void (await Promise.all([keys.reload(), waiting.reload()]))
  // A device that begins to wait is of no account yet, and so is no event.
  useNews(
    () => void reload(),
    () => void reload(),
  )
  const create = (
    <button type="button" class="btn primary" onClick={() => setOpen(true)}>
      <Icon name="key-round" />
      Create join key
    </button>
  )
  // The parts of the page come together, so that they do not move each other.
  const isReady = keys.data !== undefined && waiting.data !== undefined && rules.data !== undefined
  const error = keys.error ?? waiting.error ?? rules.error
  return (
    <View
      title="Join keys"
      about={about}
      parent={['/devices', 'Devices']}
      actions={keys.data && keys.data.length > 0 && create}
      error={error}
    >
      {!isReady && !error && <Bones of="rows" />}
      {isReady && <Waiting devices={waiting.data!} onChanged={reload} />}
      {isReady && keys.data!.length > 0 && <KeyTable keys={keys.data!} onChanged={reload} />}
      {isReady && keys.data!.length === 0 && (
        <Card>
          <Empty
            icon="key-round"
            title="No join keys yet"
            text="Put one into the image of your devices: each joins at its first start, with its name and tags."
          >
            {create}
          </Empty>
        </Card>
      )}
      {isReady && <ApprovalRule rules={rules} />}
      {isOpen && <MakeKey onMade={reload} onClose={() => setOpen(false)} />}
    </View>
  )
}
