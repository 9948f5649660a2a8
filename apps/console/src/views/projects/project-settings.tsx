import type { ConsoleProject } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { Form } from '../../parts/form.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { tell } from '../../parts/toast.tsx'
import { Card } from '../../parts/view.tsx'
import { navigate } from '../../state/route.ts'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { ProjectFields, readProject } from './project-fields.tsx'

interface ProjectSettingsProps {
  readonly project: ConsoleProject
  readonly onSaved: () => Promise<void>
}

export default function ProjectSettings(props: ProjectSettingsProps) {
  const { viewer } = useHome()
  return (
    <>
      <Settings {...props} />
      {viewer.role === 'owner' && <DeleteProject project={props.project} />}
    </>
  )
}

function Settings({ project, onSaved }: ProjectSettingsProps) {
  return (
    <Card title="Settings">
      <Form
        key={JSON.stringify(project)}
        submit="Save changes"
        send={async (values) => {
          await api['project.update']({ clientId: project.clientId, ...readProject(values) })
          await onSaved()
          tell('Saved. Existing tokens keep their old settings.')
        }}
      >
        <ProjectFields project={project} />
      </Form>
    </Card>
  )
}

/** Lists what is deleted with the project, and deletes it. For owners. */
function DeleteProject({ project: { clientId, name } }: { project: ConsoleProject }) {
  const { data: dependents } = useCall(() => api['project.dependents']({ clientId }), [clientId])
  if (!dependents) return null
  const { developerTokens, signIns, services } = dependents
  const consequence = `Deletes ${count(developerTokens, 'developer token')}, signs ${count(signIns, 'terminal')} out, and revokes every access token of the project.`
  return (
    <Card title="Danger zone" kind="danger-zone" flush>
      <ul class="rows">
        <li>
          <div>
            <strong>Delete project</strong>
            <small>{consequence}</small>
          </div>
          <Guarded
            title={`Delete ${name}?`}
            typed={name}
            consequence={
              <>
                {consequence} {services.length > 0 && <Orphans services={services} />}
              </>
            }
            run={async () => {
              await api['project.delete']({ clientId })
              navigate('/projects')
              tell(`${name} was deleted`)
            }}
          >
            Delete project
          </Guarded>
        </li>
      </ul>
    </Card>
  )
}

type Dependent = Awaited<ReturnType<(typeof api)['project.dependents']>>['services'][number]

const Orphans = ({ services }: { services: readonly Dependent[] }) => (
  <>
    These services keep running and can no longer be managed:{' '}
    {services.map(({ nodeId, nodeName, id }) => (
      <span key={nodeId + id} class="tag">
        {id} on {nodeName}
      </span>
    ))}
  </>
)

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`
