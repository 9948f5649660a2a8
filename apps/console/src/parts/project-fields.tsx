import type { ConsoleInput, ConsoleProject } from '@selvedge/protocol/console'
import { type Scope, scopes } from '@selvedge/protocol/tokens'
import { useId } from 'preact/hooks'
import { Field } from './form.tsx'

type Settings = ConsoleInput<'project.create'>

const policies = {
  off: 'Never: proofs are ignored',
  optional: 'If the program sends a proof',
  required: 'Always: no token without a proof',
} as const

/** The settings of a project, as a new one has them or as they are. */
export function ProjectFields({ project }: { project?: ConsoleProject }) {
  const id = useId()
  const chosen = (scope: string) =>
    project ? project.scopes.includes(scope as Scope) : scope !== 'offline_access'
  return (
    <>
      <Field label="Name" name="name" value={project?.name ?? ''} required maxLength={100} />
      <fieldset>
        <legend>Scopes that it may request</legend>
        {Object.entries(scopes).map(([scope, meaning]) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scope" value={scope} defaultChecked={chosen(scope)} />
            <span>
              <code>{scope}</code> {meaning}
            </span>
          </label>
        ))}
      </fieldset>
      <details>
        <summary>Lifetimes, resources, binding to a key</summary>
        <div class="columns">
          <Field
            label="Access token, in minutes"
            name="accessMinutes"
            type="number"
            min={1}
            max={1440}
            value={(project?.accessLifetime ?? 3600) / 60}
            required
          />
          <Field
            label="Developer ID token, in days"
            name="developerDays"
            type="number"
            min={1}
            max={365}
            value={Math.max(1, Math.round((project?.developerLifetime ?? 2_592_000) / 86_400))}
            required
          />
        </div>
        <Field
          label="Resources"
          name="resources"
          value={project?.resources.join(' ') ?? ''}
          hint="URIs of backends for which the project may request tokens, separated by spaces."
        />
        <p class="field">
          <label for={id}>Tokens are bound to a key of the program (DPoP)</label>
          <select id={id} name="dpop" defaultValue={project?.dpop ?? 'optional'}>
            {Object.entries(policies).map(([value, text]) => (
              <option key={value} value={value} selected={value === (project?.dpop ?? 'optional')}>
                {text}
              </option>
            ))}
          </select>
        </p>
      </details>
    </>
  )
}

export const readProject = (values: FormData): Settings => ({
  name: String(values.get('name')),
  scopes: values.getAll('scope').map(String) as Scope[],
  resources: String(values.get('resources')).split(/\s+/).filter(Boolean),
  accessLifetime: Number(values.get('accessMinutes')) * 60,
  developerLifetime: Number(values.get('developerDays')) * 86_400,
  dpop: String(values.get('dpop')) as Settings['dpop'],
})
