import type { ConsoleProject } from '@selvedge/protocol/console'
import { useId, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { associateWith, keepToken } from './flow.ts'
import { Form } from './form.tsx'
import { Time } from './time.tsx'

interface Made {
  readonly idToken: string
  readonly expiresAt: string
  readonly clientId: string
}

/** Creates a developer ID token and shows it once. */
export function TokenMaker({
  projects,
  onMade,
}: {
  projects: readonly ConsoleProject[]
  onMade?: () => void
}) {
  const id = useId()
  const [made, setMade] = useState<Made>()
  return (
    <>
      <p>
        A developer ID token lets a program act for you on devices, for one project, until it expires or you
        revoke it.
      </p>
      <Form
        submit="Create a developer ID token"
        send={async (values) => {
          const clientId = String(values.get('clientId'))
          setMade({ ...(await api['token.create']({ clientId })), clientId })
        }}
      >
        {projects.length === 1 ? (
          <input type="hidden" name="clientId" value={projects[0]?.clientId} />
        ) : (
          <p class="field">
            <label for={id}>For the project</label>
            <select id={id} name="clientId">
              {projects.map(({ clientId, name }) => (
                <option key={clientId} value={clientId}>
                  {name}
                </option>
              ))}
            </select>
          </p>
        )}
      </Form>
      {made && (
        <Dialog
          title="Your developer ID token"
          onClose={() => {
            setMade(undefined)
            onMade?.()
          }}
        >
          <p>
            It is shown only once. It expires <Time of={made.expiresAt} />.
          </p>
          <Copy label="Developer ID token" text={made.idToken} />
          <p>Store it in a file that only you may read:</p>
          <Copy label="Command that stores the token" text={keepToken(made.idToken)} />
          <p>With the command line of Selvedge on a device, this command associates the device:</p>
          <Copy label="Command that uses the token" text={associateWith(made.clientId)} />
        </Dialog>
      )}
    </>
  )
}
