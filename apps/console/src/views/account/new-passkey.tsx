import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { tell } from '../../parts/toast.tsx'
import { addPasskey, deviceName } from '../../passkeys.ts'

interface NewPasskeyProps {
  readonly onAdded: () => Promise<void>
  readonly onClose: () => void
}

export default function NewPasskey({ onAdded, onClose }: NewPasskeyProps) {
  return (
    <Dialog title="Add passkey" closing="Cancel" onClose={onClose}>
      <p class="soft">
        You sign in with your fingerprint, face or device PIN. Nothing to remember, nothing to phish.
      </p>
      <Form
        submit="Create passkey"
        send={async (values) => {
          await addPasskey(String(values.get('name')))
          await onAdded()
          onClose()
          tell('The passkey was added')
        }}
      >
        <Field label="Passkey name" name="name" value={deviceName()} required maxLength={60} />
      </Form>
    </Dialog>
  )
}
