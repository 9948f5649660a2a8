import type { ConsoleProject } from '@selvedge/protocol/console'
import { Dialog } from './dialog.tsx'
import { Form, Select } from './form.tsx'

interface ChooseProjectProps {
  readonly projects: readonly ConsoleProject[]
  readonly onChosen: (clientId: string) => Promise<void>
  readonly onClose: () => void
}

/** Which project a developer ID token is for. */
export default function ChooseProject({ projects, onChosen, onClose }: ChooseProjectProps) {
  return (
    <Dialog title="Create developer token" closing="Cancel" onClose={onClose}>
      <p class="soft">Lets a program act for you on your devices until it expires.</p>
      <Form submit="Create token" send={(values) => onChosen(String(values.get('clientId')))}>
        <Select
          label="Project"
          name="clientId"
          options={projects.map(({ clientId, name }) => [clientId, name] as const)}
        />
      </Form>
    </Dialog>
  )
}
