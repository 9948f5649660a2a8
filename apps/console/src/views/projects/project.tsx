import type { ConsoleProject } from '@selvedge/protocol/console'
import { api } from '../../api.ts'
import { CopyId } from '../../parts/copy.tsx'
import { Form } from '../../parts/form.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { Link } from '../../parts/link.tsx'
import { duration, Time } from '../../parts/time.tsx'
import { tell } from '../../parts/toast.tsx'
import { TokenMaker } from '../../parts/token-maker.tsx'
import { Bones, Card, Notice, View } from '../../parts/view.tsx'
import { navigate } from '../../state/route.ts'
import { useCall } from '../../state/use-call.ts'
import { useHome } from '../../state/viewer.ts'
import { Connect } from './connect.tsx'
import { ProjectFields, readProject } from './project-fields.tsx'

const parent = ['/projects', 'Projects'] as const

export default function ProjectView({ clientId, part }: { clientId: string; part: string }) {
  const { viewer } = useHome()
  const { data: projects, error, reload } = useCall(() => api['project.list']())
  const project = projects?.find((each) => each.clientId === clientId)
  if (projects && !project) return <Missing />
  if (!project)
    return (
      <View title="Project" parent={parent} error={error}>
        {!error && <Bones />}
      </View>
    )
  const path = `/projects/${clientId}`
  return (
    <View
      title={project.name}
      parent={parent}
      about={
        <span class="line tight">
          <span class="faint">Client ID</span>
          <CopyId text={clientId} label="Client ID" />
        </span>
      }
      actions={project.active && <TokenMaker projects={[project]} />}
      tabs={[
        { to: path, title: 'Connect a device' },
        { to: `${path}/settings`, title: 'Settings' },
      ]}
      tab={part === '' ? path : `${path}/${part}`}
      error={error}
    >
      {!project.active && (
        <Notice kind="warn" icon="ban" title="Turned off" text="Its programs get no tokens." />
      )}
      {part === 'settings' ? (
        <>
          <Settings project={project} onSaved={reload} />
          {viewer.role === 'owner' && <DeleteProject project={project} />}
        </>
      ) : (
        <div class="two">
          <Connect project={project} />
          <Details project={project} />
        </div>
      )}
    </View>
  )
}

const Missing = () => (
  <View title="Project not found" parent={parent} about="It may have been deleted.">
    <div>
      <Link to="/projects" class="btn">
        All projects
      </Link>
    </div>
  </View>
)

function Details({ project }: { project: ConsoleProject }) {
  const { accessLifetime, developerLifetime, dpop, createdAt, scopes } = project
  return (
    <Card title="Details">
      <dl class="kv">
        <dt>Access token</dt>
        <dd>{duration(accessLifetime)}</dd>
        <dt>Developer token</dt>
        <dd>{duration(developerLifetime)}</dd>
        <dt>Bound to a key</dt>
        <dd>{{ off: 'Never', optional: 'Optional', required: 'Always' }[dpop]}</dd>
        <dt>Created</dt>
        <dd>
          <Time of={createdAt} />
        </dd>
      </dl>
      <div class="line tight">
        {scopes.map((scope) => (
          <span key={scope} class="tag">
            {scope}
          </span>
        ))}
      </div>
    </Card>
  )
}

function Settings({ project, onSaved }: { project: ConsoleProject; onSaved: () => Promise<void> }) {
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
