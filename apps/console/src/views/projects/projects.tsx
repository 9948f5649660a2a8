import type { ConsoleProject } from '@selvedge/protocol/console'
import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Link } from '../../parts/link.tsx'
import { Bones, Card, Empty, View } from '../../parts/view.tsx'
import { navigate } from '../../state/route.ts'
import { useCall } from '../../state/use-call.ts'
import { ProjectFields, readProject } from './project-fields.tsx'
import './projects.css'

export default function ProjectsView() {
  const { data, error } = useCall(() => api['project.list']())
  const [isOpen, setOpen] = useState(false)
  const create = (
    <button type="button" class="btn primary" onClick={() => setOpen(true)}>
      <Icon name="plus" />
      New project
    </button>
  )
  return (
    <View
      title="Projects"
      about="A project is a program that may use your devices. Its client ID identifies it."
      actions={data && data.length > 0 && create}
      error={error}
    >
      {!data && !error && <Bones of="rows" />}
      {data?.length === 0 && (
        <Card>
          <Empty
            icon="layers"
            title="No projects yet"
            text="A project gives your program a client ID and decides what it may do."
          >
            {create}
          </Empty>
        </Card>
      )}
      {data && data.length > 0 && (
        <ul class="cards">
          {data.map((project) => (
            <li key={project.clientId}>
              <ProjectCard project={project} />
            </li>
          ))}
        </ul>
      )}
      {isOpen && <NewProject onClose={() => setOpen(false)} />}
    </View>
  )
}

function ProjectCard({ project: { clientId, name, scopes, active } }: { project: ConsoleProject }) {
  return (
    <Link to={`/projects/${clientId}`} class="card">
      <span class="line row">
        <span class="glyph">
          <Icon name="layers" />
        </span>
        <span class="cut grow">
          <strong>{name}</strong>
          <br />
          <small class="mono">{clientId}</small>
        </span>
        {!active && <span class="badge">Turned off</span>}
      </span>
      <span class="faint">
        {scopes.length === 0
          ? 'No permissions'
          : `${scopes.length} permission${scopes.length === 1 ? '' : 's'}`}
      </span>
    </Link>
  )
}

function NewProject({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="New project" closing="Cancel" onClose={onClose}>
      <Form
        submit="Create project"
        send={async (values) => {
          const { clientId } = await api['project.create'](readProject(values))
          navigate(`/projects/${clientId}`)
        }}
      >
        <ProjectFields />
      </Form>
    </Dialog>
  )
}
