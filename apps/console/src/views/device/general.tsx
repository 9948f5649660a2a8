import type { Device } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { Field, Form } from '../../parts/form.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card } from '../../parts/view.tsx'

/** What the people of the account call the device. */
export function General({ device, onChanged }: { device: Device; onChanged: () => Promise<void> }) {
  const { nodeId, name, label, tags } = device
  return (
    <Card title="General">
      <Form
        key={JSON.stringify([label, tags])}
        submit="Save changes"
        send={async (values) => {
          const words = String(values.get('tags'))
            .split(/[\s,]+/)
            .filter(Boolean)
          await api['device.label']({ nodeId, label: String(values.get('label')), tags: words })
          await onChanged()
          tell('Saved')
        }}
      >
        <Field
          label="Name"
          name="label"
          value={label}
          placeholder={name}
          maxLength={60}
          hint={`Shown here only. The device calls itself ${name}.`}
        />
        <Field
          label="Tags"
          name="tags"
          value={tags.join(' ')}
          placeholder="type:van site:oslo"
          spellcheck={false}
          hint="Separated by spaces. Use key:value to group devices."
        />
      </Form>
    </Card>
  )
}
