import { associateWith, keepToken } from '../views/projects/flow.ts'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { exactTime } from './time.tsx'
import type { Made } from './token-maker.tsx'
import { Notice } from './view.tsx'

/** A developer ID token, shown once. */
export default function MadeToken({ made, onClose }: { made: Made; onClose: () => void }) {
  return (
    <Dialog title="Your developer token" closing="Done" onClose={onClose}>
      <Notice kind="warn" icon="triangle-alert" title="Copy it now." text="You won’t see it again." />
      <Copy label="Developer token" text={made.idToken} />
      <p class="soft">Valid until {exactTime(made.expiresAt)}</p>
      <h3>Save it to a file only you can read</h3>
      <Copy label="Command that saves the token" text={keepToken(made.idToken)} />
      <h3>Then connect a device with it</h3>
      <Copy label="Command that uses the token" text={associateWith(made.clientId)} />
    </Dialog>
  )
}
