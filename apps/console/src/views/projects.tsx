import { api } from '../api.ts'
import { Form } from '../parts/form.tsx'
import { Link } from '../parts/link.tsx'
import { ProjectFields, readProject } from '../parts/project-fields.tsx'
import { Card, Empty, View } from '../parts/view.tsx'
import { navigate } from '../state/route.ts'
import { useCall } from '../state/use-call.ts'

export function ProjectsView() {
  const { data, error } = useCall(() => api['project.list']())
  return (
    <View title="Projects" error={error}>
      {data?.length === 0 && (
        <Empty>
          <p>
            A project gives your program a <strong>client ID</strong> for token requests, and sets the scopes
            that it may request. Create one below. Its page then shows each command to get an access token,
            with your values.
          </p>
        </Empty>
      )}
      {data && data.length > 0 && (
        <ul class="cards">
          {data.map(({ clientId, name, scopes, active }) => (
            <li key={clientId} class="card">
              <h2>
                <Link to={`/projects/${clientId}`}>{name}</Link>{' '}
                {!active && <span class="chip away">disabled</span>}
              </h2>
              <p>
                <code>{clientId}</code>
              </p>
              <p class="hint">{scopes.join(' · ') || 'no scopes'}</p>
            </li>
          ))}
        </ul>
      )}
      <Card title="New project">
        <Form
          submit="Create the project"
          send={async (values) => {
            const { clientId } = await api['project.create'](readProject(values))
            navigate(`/projects/${clientId}`)
          }}
        >
          <ProjectFields />
        </Form>
      </Card>
    </View>
  )
}
