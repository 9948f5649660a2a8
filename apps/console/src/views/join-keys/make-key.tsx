import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Copy } from '../../parts/copy.tsx'
import { count } from '../../parts/count.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, Select } from '../../parts/form.tsx'
import { exactTime, nowMs } from '../../parts/time.tsx'
import { Notice } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

const dayMs = 86_400_000
const lifetimes = [
  ['1', '1 day'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '365 days'],
] as const

type Made = Awaited<ReturnType<(typeof api)['join_key.create']>>

/** Creates a join key, and shows it once. */
export default function MakeKey({ onMade, onClose }: { onMade: () => Promise<void>; onClose: () => void }) {
  const { data: projects } = useCall(() => api['project.list']())
  const [made, setMade] = useState<Made>()
  return (
    <Dialog
      title={made ? 'Your join key' : 'Create a join key'}
      closing={made ? 'Done' : 'Cancel'}
      onClose={onClose}
    >
      {made ? (
        <MadeKey made={made} />
      ) : (
        <Form
          submit="Create join key"
          send={async (values) => {
            setMade(await api['join_key.create'](readKey(values)))
            await onMade()
          }}
        >
          <KeyFields projects={projects ?? []} />
        </Form>
      )}
    </Dialog>
  )
}

const KeyFields = ({ projects }: { projects: readonly ConsoleProject[] }) => (
  <>
    <Field label="Title" name="title" maxLength={60} hint="For the list of join keys." />
    <div class="columns">
      <Field
        label="Devices"
        name="uses"
        type="number"
        min={1}
        max={100_000}
        value={10}
        required
        hint="How many may join by it."
      />
      <Select label="Expires after" name="days" value="30" options={lifetimes} />
    </div>
    <Field
      label="Name of the devices"
      name="name"
      maxLength={60}
      spellcheck={false}
      placeholder="kiosk-{serial}"
      hint="With {serial} and {nodeId}. Empty: the name that the device states."
    />
    <Field
      label="Tags"
      name="tags"
      spellcheck={false}
      placeholder="team:kiosk"
      hint="Words or key:value, separated by spaces."
    />
    <label class="check">
      <input type="checkbox" name="approve" />
      <span>Each device waits until an owner approves it</span>
    </label>
    {projects.length > 0 && (
      <Select
        label="Ends with the project"
        name="project"
        value=""
        options={[
          ['', 'None'] as const,
          ...projects.filter(({ active }) => active).map(({ clientId, name }) => [clientId, name] as const),
        ]}
      />
    )}
  </>
)

const readKey = (values: FormData) => {
  const text = (name: string) => String(values.get(name) ?? '')
  return {
    title: text('title'),
    name: text('name'),
    tags: text('tags')
      .split(/[\s,]+/)
      .filter(Boolean),
    uses: Number(text('uses')),
    until: new Date(nowMs() + Number(text('days')) * dayMs).toISOString(),
    approve: values.has('approve'),
    project: text('project') || null,
  }
}

/** The key, and the three places from which a device gets it. */
const MadeKey = ({ made: { key, joinKey } }: { made: Made }) => (
  <>
    <Notice kind="warn" icon="triangle-alert" title="Copy it now." text="You won’t see it again." />
    <Copy label="Join key" text={key} />
    <p class="soft">
      For {count(joinKey.uses)} until {exactTime(joinKey.expiresAt)}. A device gets it from one of these:
    </p>
    <h3>A file of the image, before the first start</h3>
    <Copy
      isCommand
      label="Command that writes the file"
      text={`printf '%s\\n' '${key}' | sudo install -D -m 600 /dev/stdin /etc/selvedge/join-key`}
    />
    <h3>A variable, as for a container</h3>
    <Copy label="Variable with the key" text={`SELVEDGE_JOIN_KEY=${key}`} />
    <h3>A command, on a device that runs</h3>
    <Copy
      isCommand
      label="Command that joins"
      text={`(umask 077; printf %s '${key}' > join-key)\nsudo selvedge up --join-key-file join-key`}
    />
  </>
)
