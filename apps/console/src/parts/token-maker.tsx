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

/** Makes a developer ID token and shows it, once. */
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
        Your word to a project: a program that has it acts for you on devices, until it ends or you revoke it.
      </p>
      <Form
        submit="Make a developer ID token"
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
            It is shown now and never again. It ends <Time of={made.expiresAt} />.
          </p>
          <Copy label="Developer ID token" text={made.idToken} />
          <p>Keep it in a file that only you may read:</p>
          <Copy label="Command that keeps the token" text={keepToken(made.idToken)} />
          <p>On a device with this command line, that is all it takes to associate it:</p>
          <Copy label="Command that uses the token" text={associateWith(made.clientId)} />
        </Dialog>
      )}
    </>
  )
}
