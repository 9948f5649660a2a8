import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../api.ts'
import { Action } from '../parts/action.tsx'
import { Copy } from '../parts/copy.tsx'
import { flowOf } from '../parts/flow.ts'
import { Form } from '../parts/form.tsx'
import { Link } from '../parts/link.tsx'
import { ProjectFields, readProject } from '../parts/project-fields.tsx'
import { duration } from '../parts/time.tsx'
import { TokenMaker } from '../parts/token-maker.tsx'
import { Card, View } from '../parts/view.tsx'
import { navigate } from '../state/route.ts'
import { useCall } from '../state/use-call.ts'
import { useHome } from '../state/viewer.ts'

export function ProjectView({ clientId }: { clientId: string }) {
  const { viewer } = useHome()
  const { data: projects, error, reload } = useCall(() => api['project.list']())
  const [saved, setSaved] = useState(false)
  const project = projects?.find((each) => each.clientId === clientId)
  if (!project)
    return (
      <View title="Project" error={error ?? (projects && 'The account has no such project.')}>
        <Link to="/projects">All projects</Link>
      </View>
    )
  const { name, active, accessLifetime, developerLifetime } = project
  return (
    <View title={name} error={error}>
      {!active && <p class="notice">This project is disabled: its client ID gets no tokens.</p>}
      <Card title="Client ID">
        <Copy text={clientId} label="Client ID" />
        <p class="hint">
          It is not a secret. Access tokens are valid for {duration(accessLifetime)}, developer ID tokens{' '}
          {duration(developerLifetime)}.
        </p>
      </Card>
      <Card title="Developer ID token">
        <TokenMaker projects={[project]} />
      </Card>
      <FirstSteps project={project} />
      <Card title="Settings">
        <Form
          key={JSON.stringify(project)}
          submit="Save"
          send={async (values) => {
            await api['project.update']({ clientId, ...readProject(values) })
            await reload()
            setSaved(true)
          }}
        >
          <ProjectFields project={project} />
        </Form>
        {saved && <p role="status">Saved. Tokens that were issued before do not change.</p>}
      </Card>
      {viewer.role === 'owner' && <DeleteProject project={project} />}
    </View>
  )
}

/** The commands from a developer ID token to a device that reports its location. */
function FirstSteps({ project }: { project: ConsoleProject }) {
  const { identityUrl } = useHome()
  const [runtimeUrl, setRuntimeUrl] = useState('http://127.0.0.1:8083')
  return (
    <Card title="Connect a device and report its location">
      <p>
        Run these commands in a shell, in the folder of the file <code>developer.token</code> that the step
        above writes.
      </p>
      <p class="field">
        <label for="runtime-url">URL of the device’s runtime</label>
        <input
          id="runtime-url"
          value={runtimeUrl}
          onInput={(event) => setRuntimeUrl((event.target as HTMLInputElement).value)}
        />
      </p>
      <Copy label="Commands of the whole flow" text={flowOf({ runtimeUrl, identityUrl, project })} />
    </Card>
  )
}

/** Lists what is deleted with the project, and deletes it. For owners. */
function DeleteProject({ project: { clientId, name } }: { project: ConsoleProject }) {
  const { data: dependents } = useCall(() => api['project.dependents']({ clientId }), [clientId])
  return (
    <Card title="Delete">
      <p>
        {dependents
          ? `This also deletes ${count(dependents.developerTokens, 'developer ID token')} and ${count(dependents.signIns, 'sign-in')}, and revokes every access token of the project.`
          : 'Please wait …'}
      </p>
      {dependents && dependents.services.length > 0 && (
        <>
          <p>These services stay on their devices, but you can no longer manage them:</p>
          <ul>
            {dependents.services.map(({ nodeId, nodeName, id }) => (
              <li key={nodeId + id}>
                <code>{id}</code> on <Link to={`/devices/${nodeId}`}>{nodeName}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
      <Action
        kind="danger"
        question={`Delete the project ${name} permanently?`}
        run={async () => {
          await api['project.delete']({ clientId })
          navigate('/projects')
        }}
      >
        Delete the project
      </Action>
    </Card>
  )
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`
