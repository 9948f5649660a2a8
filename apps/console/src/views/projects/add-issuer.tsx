import type { ConsoleInput, ConsoleProject } from '@selvedge/protocol/console'
import { type Scope, splitCondition } from '@selvedge/protocol/tokens'
import { useId } from 'preact/hooks'
import { api } from '../../api.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, Select } from '../../parts/form.tsx'
import { permissions } from '../../parts/permissions.ts'
import { tell } from '../../parts/toast.tsx'

interface AddIssuerProps {
  readonly project: ConsoleProject
  readonly onClose: () => void
  readonly onAdded: () => Promise<void>
}

/** A rule by which the project trusts an issuer, as the example of GitHub Actions fills it. */
export function AddIssuer({ project, onClose, onAdded }: AddIssuerProps) {
  return (
    <Dialog title="Trust an issuer" closing="Cancel" onClose={onClose}>
      <Form
        submit="Add issuer"
        send={async (values) => {
          const { warnings } = await api['issuer.add'](readRule(project.clientId, values))
          await onAdded()
          onClose()
          tell(warnings[0] ?? 'Added. Its keys are fetched with the first token.')
        }}
      >
        <Field
          label="Issuer"
          name="issuer"
          value="https://token.actions.githubusercontent.com"
          hint="URL exactly as the tokens name it in “iss”."
          required
          maxLength={255}
          spellcheck={false}
        />
        <Field
          label="Audiences"
          name="audiences"
          value={project.clientId}
          hint="A token names one of these in “aud”. The client ID keeps it apart from other services."
          required
          spellcheck={false}
        />
        <Conditions />
        <Select
          label="For"
          name="as"
          options={[
            ['workload', 'Workloads: they act for the account'],
            ['person', 'People: each one is linked by the “sub” of the tokens'],
          ]}
        />
        <Permissions project={project} />
        <Select
          label="Signed with"
          name="algorithm"
          options={[
            ['RS256', 'RS256, which most issuers use'],
            ['ES256', 'ES256'],
            ['PS256', 'PS256'],
            ['EdDSA', 'EdDSA'],
          ]}
        />
      </Form>
    </Dialog>
  )
}

function Conditions() {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>Conditions</label>
      <textarea
        id={id}
        class="input mono"
        name="conditions"
        rows={3}
        required
        spellcheck={false}
        placeholder={'repository=your-org/your-repo\nref=refs/heads/main'}
        aria-describedby={`${id}-hint`}
      />
      <small id={`${id}-hint`}>
        One claim=value per line; a token meets all. A * at the end accepts every value that begins so.
      </small>
    </div>
  )
}

const Permissions = ({ project }: { project: ConsoleProject }) => (
  <fieldset>
    <legend>Permissions</legend>
    {project.scopes.map((scope) => (
      <label key={scope} class="check">
        <input
          type="checkbox"
          name="scope"
          value={scope}
          defaultChecked={scope === 'openid' || scope === 'edge:mcm'}
        />
        <span>
          {permissions[scope as Scope]} <code class="faint">{scope}</code>
        </span>
      </label>
    ))}
  </fieldset>
)

const words = (value: FormDataEntryValue | null) => String(value).split(/\s+/).filter(Boolean)

const readRule = (clientId: string, values: FormData): ConsoleInput<'issuer.add'> => ({
  clientId,
  issuer: String(values.get('issuer')).trim(),
  audiences: words(values.get('audiences')),
  conditions: String(values.get('conditions'))
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => splitCondition(line) ?? { claim: line, value: '' }),
  scopes: values.getAll('scope').map(String) as Scope[],
  as: values.get('as') === 'person' ? 'person' : 'workload',
  algorithms: [String(values.get('algorithm')) as ConsoleInput<'issuer.add'>['algorithms'][number]],
})
