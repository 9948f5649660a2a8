import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Form } from '../parts/form.tsx'
import { Guarded } from '../parts/guarded.tsx'
import { Card } from '../parts/view.tsx'
import { useCall } from '../state/use-call.ts'

type Group = Awaited<ReturnType<(typeof api)['group.list']>>[number]

/** Groups of people, to share services with; for owners. */
export default function Groups() {
  const [isOpen, setOpen] = useState(false)
  const { data: groups = [], reload } = useCall(() => api['group.list']())
  return (
    <Card title="Groups" flush>
      <ul class="rows">
        {groups.map((group) => (
          <GroupRow key={group.groupId} group={group} onChanged={reload} />
        ))}
        <li>
          <div>
            <small>
              Services can be shared with a group, and learn the groups of the people who call them.
            </small>
          </div>
          <button type="button" class="btn" onClick={() => setOpen(true)}>
            New group
          </button>
        </li>
      </ul>
      {isOpen && (
        <Dialog title="New group" closing="Cancel" onClose={() => setOpen(false)}>
          <Form
            submit="Create group"
            send={async (values) => {
              await api['group.create']({ name: String(values.get('name')) })
              await reload()
              setOpen(false)
            }}
          >
            <Field
              label="Name"
              name="name"
              hint="Lower-case letters, digits and . _ -. It cannot be changed."
              required
              maxLength={32}
              spellcheck={false}
            />
          </Form>
        </Dialog>
      )}
    </Card>
  )
}

function GroupRow({ group, onChanged }: { group: Group; onChanged: () => Promise<void> }) {
  const { groupId, name, people } = group
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <div>
        <strong>{name}</strong>
        {people.map(({ personId, email }) => (
          <span key={personId} class="line tight">
            <small>{email || personId}</small>
            <Action
              kind="quiet"
              label={`Remove ${email || personId} from ${name}`}
              run={async () => {
                await api['group.remove_person']({ groupId, personId })
                await onChanged()
              }}
            >
              Remove
            </Action>
          </span>
        ))}
      </div>
      <button type="button" class="btn quiet" onClick={() => setOpen(true)}>
        Add a person
      </button>
      <Guarded
        title={`Delete the group ${name}?`}
        consequence="Everything that is shared with the group ends."
        run={async () => {
          await api['group.delete']({ groupId })
          await onChanged()
        }}
      >
        Delete group
      </Guarded>
      {isOpen && (
        <Dialog title={`Add a person to ${name}`} closing="Cancel" onClose={() => setOpen(false)}>
          <Form
            submit="Add person"
            send={async (values) => {
              await api['group.add_person']({ groupId, person: String(values.get('person')).trim() })
              await onChanged()
              setOpen(false)
            }}
          >
            <Field
              label="Person"
              name="person"
              hint="Address of a member or of a user of your apps, or the ID of a person (“sub”)."
              required
              maxLength={320}
              spellcheck={false}
            />
          </Form>
        </Dialog>
      )}
    </li>
  )
}
