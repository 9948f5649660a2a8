import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { associateWith, keepToken } from '../views/projects/flow.ts'
import { Action } from './action.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Form, Select } from './form.tsx'
import { exactTime } from './time.tsx'
import { Notice } from './view.tsx'

interface Made {
  readonly idToken: string
  readonly expiresAt: string
  readonly clientId: string
}

interface TokenMakerProps {
  /** Active ones; with several, a person chooses. */
  readonly projects: readonly ConsoleProject[]
  readonly onMade?: () => void
}

/** A button that creates a developer ID token and shows it once. */
export function TokenMaker({ projects, onMade }: TokenMakerProps) {
  const [made, setMade] = useState<Made>()
  const [isChoosing, setChoosing] = useState(false)
  const create = async (clientId: string) => {
    setMade({ ...(await api['token.create']({ clientId })), clientId })
    setChoosing(false)
  }
  const [only] = projects
  return (
    <>
      <Action
        kind="primary"
        icon="key-round"
        run={async () => {
          if (projects.length === 1 && only) await create(only.clientId)
          else setChoosing(true)
        }}
      >
        Create developer token
      </Action>
      {isChoosing && (
        <Dialog title="Create developer token" closing="Cancel" onClose={() => setChoosing(false)}>
          <p class="soft">Lets a program act for you on your devices until it expires.</p>
          <Form submit="Create token" send={(values) => create(String(values.get('clientId')))}>
            <Select
              label="Project"
              name="clientId"
              options={projects.map(({ clientId, name }) => [clientId, name] as const)}
            />
          </Form>
        </Dialog>
      )}
      {made && (
        <MadeToken
          made={made}
          onClose={() => {
            setMade(undefined)
            onMade?.()
          }}
        />
      )}
    </>
  )
}

const MadeToken = ({ made, onClose }: { made: Made; onClose: () => void }) => (
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
