import { api } from '../../api.ts'
import { CopyId } from '../../parts/copy.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { TokenMaker } from '../../parts/token-maker.tsx'
import { Bones, Notice, View } from '../../parts/view.tsx'
import { useCall } from '../../state/use-call.ts'

const parent = ['/projects', 'Projects'] as const
const Missing = lazyView(() => import('./project-missing.tsx'))
const Overview = lazyView(() => import('./project-overview.tsx'))
const Issuers = lazyView(() => import('./project-issuers.tsx'))
const Settings = lazyView(() => import('./project-settings.tsx'))

export default function ProjectView({ clientId, part }: { clientId: string; part: string }) {
  const { data: projects, error, reload } = useCall(() => api['project.list']())
  const project = projects?.find((each) => each.clientId === clientId)
  if (projects && !project) return <Missing />
  if (!project)
    return (
      <View title="Project" parent={parent} error={error}>
        {!error && <Bones of="rows" />}
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
        { to: `${path}/issuers`, title: 'Trusted issuers' },
        { to: `${path}/settings`, title: 'Settings' },
      ]}
      tab={part === '' ? path : `${path}/${part}`}
      error={error}
    >
      {!project.active && (
        <Notice kind="warn" icon="ban" title="Turned off" text="Its programs get no tokens." />
      )}
      {part === 'issuers' && <Issuers project={project} />}
      {part === 'settings' && <Settings project={project} onSaved={reload} />}
      {part !== 'issuers' && part !== 'settings' && <Overview project={project} />}
    </View>
  )
}
