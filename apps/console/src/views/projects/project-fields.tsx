import type { ConsoleInput, ConsoleProject } from '@selvedge/protocol/console'
import type { LeaseScope, Scope } from '@selvedge/protocol/tokens'
import { Field, Select } from '../../parts/form.tsx'
import { permissions } from '../../parts/permissions.ts'

type Settings = ConsoleInput<'project.create'>

const policies = [
  ['off', 'Never'],
  ['optional', 'If the program supports it'],
  ['required', 'Always'],
] as const

/** The settings of a project, as a new one has them or as they are. */
export function ProjectFields({ project }: { project?: ConsoleProject }) {
  const chosen = (scope: string) =>
    project ? project.scopes.includes(scope as Scope) : scope !== 'offline_access'
  return (
    <>
      <Field label="Name" name="name" value={project?.name ?? ''} required maxLength={100} />
      <fieldset>
        <legend>Permissions</legend>
        {Object.entries(permissions).map(([scope, meaning]) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scope" value={scope} defaultChecked={chosen(scope)} />
            <span>
              {meaning} <code class="faint">{scope}</code>
            </span>
          </label>
        ))}
      </fieldset>
      <details>
        <summary>Sign-in for users of an app</summary>
        <AppFields project={project} />
      </details>
      <details>
        <summary>Advanced</summary>
        <Advanced project={project} />
      </details>
    </>
  )
}

const appKinds = [
  ['web', 'Web app with a server'],
  ['browser', 'Page without a server'],
  ['native', 'Installed on a phone or computer'],
] as const
const audiences = [
  ['account', 'People of this account'],
  ['anyone', 'Everyone on this installation'],
] as const
const idTokenAlgorithms = [
  ['ES256', 'ES256 (default)'],
  ['RS256', 'RS256, for libraries that require it'],
] as const

/** How people sign in to the app of the project. */
function AppFields({ project }: { project: ConsoleProject | undefined }) {
  const lines = (values: readonly string[] | undefined) => values?.join(' ') ?? ''
  return (
    <div class="stack close">
      <div class="columns">
        <Select label="Kind of app" name="appType" value={project?.appType ?? 'web'} options={appKinds} />
        <Select
          label="Who may sign in"
          name="appUsers"
          value={project?.appUsers ?? 'account'}
          options={audiences}
        />
      </div>
      <Field
        label="Redirect URIs"
        name="redirectUris"
        value={lines(project?.redirectUris)}
        spellcheck={false}
        hint="Exactly as the app sends them, separated by spaces."
      />
      <Field
        label="After sign-out"
        name="postLogoutRedirectUris"
        value={lines(project?.postLogoutRedirectUris)}
        spellcheck={false}
        hint="URIs that the browser may return to."
      />
      <Field
        label="Origins"
        name="origins"
        value={lines(project?.origins)}
        spellcheck={false}
        hint="Pages that request tokens, such as https://app.example."
      />
      <Select
        label="Signature of ID tokens"
        name="idTokenSignedResponseAlg"
        value={project?.idTokenSignedResponseAlg ?? 'ES256'}
        options={idTokenAlgorithms}
      />
    </div>
  )
}

function Advanced({ project }: { project: ConsoleProject | undefined }) {
  return (
    <div class="stack close">
      <div class="columns">
        <Field
          label="Access token lifetime (minutes)"
          name="accessMinutes"
          type="number"
          min={1}
          max={1440}
          value={(project?.accessLifetime ?? 3600) / 60}
          required
        />
        <Field
          label="Developer token lifetime (days)"
          name="developerDays"
          type="number"
          min={1}
          max={365}
          value={Math.max(1, Math.round((project?.developerLifetime ?? 2_592_000) / 86_400))}
          required
        />
      </div>
      <Field
        label="Backends"
        name="resources"
        value={project?.resources.join(' ') ?? ''}
        hint="URIs that may accept these tokens, separated by spaces."
      />
      <Select
        label="Bind tokens to the program’s key (DPoP)"
        name="dpop"
        value={project?.dpop ?? 'optional'}
        options={policies}
      />
      <OfflineFields project={project} />
    </div>
  )
}

/** Scopes of leases, and what each lets a client do without the identity service. */
const offlineScopes: readonly (readonly [LeaseScope, string])[] = [
  ['openid', 'Use services and read data'],
  ['edge:clusters', 'See nodes nearby'],
  ['edge:mcm', 'Change images and containers'],
]

function OfflineFields({ project }: { project: ConsoleProject | undefined }) {
  return (
    <>
      <Field
        label="Work offline (days)"
        name="offlineDays"
        type="number"
        min={0}
        max={400}
        value={project?.offline.maxDays ?? 0}
        required
        hint="For how long programs can work at a device that cannot reach this service. 0: not at all. Less than before ends the leases that were issued."
      />
      <fieldset>
        <legend>Work offline with</legend>
        {offlineScopes.map(([scope, meaning]) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name="offlineScope"
              value={scope}
              defaultChecked={project?.offline.scopes.includes(scope) ?? false}
            />
            <span>
              {meaning} <code class="faint">{scope}</code>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  )
}
const listOf = (values: FormData, name: string): string[] =>
  String(values.get(name)).split(/\s+/).filter(Boolean)

export const readProject = (values: FormData): Settings => ({
  name: String(values.get('name')),
  scopes: values.getAll('scope').map(String) as Scope[],
  resources: listOf(values, 'resources'),
  appType: String(values.get('appType')) as Settings['appType'],
  appUsers: String(values.get('appUsers')) as Settings['appUsers'],
  redirectUris: listOf(values, 'redirectUris'),
  postLogoutRedirectUris: listOf(values, 'postLogoutRedirectUris'),
  origins: listOf(values, 'origins'),
  idTokenSignedResponseAlg: String(
    values.get('idTokenSignedResponseAlg'),
  ) as Settings['idTokenSignedResponseAlg'],
  accessLifetime: Number(values.get('accessMinutes')) * 60,
  developerLifetime: Number(values.get('developerDays')) * 86_400,
  dpop: String(values.get('dpop')) as Settings['dpop'],
  offline: {
    maxDays: Number(values.get('offlineDays')),
    scopes: values.getAll('offlineScope').map(String) as LeaseScope[],
  },
})
