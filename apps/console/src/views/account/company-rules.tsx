import type { ConsoleInput } from '@selvedge/protocol/console'
import { splitCondition } from '@selvedge/protocol/tokens'
import { useId } from 'preact/hooks'
import { api } from '../../api.ts'
import { Explained } from '../../failures.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { tell } from '../../parts/toast.tsx'
import type { Company } from './companies.tsx'

interface CompanyRulesProps {
  readonly company: Company
  readonly onSaved: () => Promise<void>
  readonly onClose: () => void
}

/** Who gets which role, and whether others may sign in without the company. */
export default function CompanyRules({ company, onSaved, onClose }: CompanyRulesProps) {
  const { companyId, domain, rules, isRequired } = company
  const id = useId()
  return (
    <Dialog title={`Sign-in with ${domain}`} closing="Cancel" onClose={onClose}>
      <Form
        submit="Save rules"
        send={async (values) => {
          await api['company.update']({
            companyId,
            rules: readRules(String(values.get('rules'))),
            isRequired: values.get('required') === 'on',
          })
          await onSaved()
          onClose()
          tell('Saved. Rules apply at the next sign-in of each person.')
        }}
      >
        <div class="field">
          <label for={id}>Roles</label>
          <textarea
            id={id}
            class="input mono"
            name="rules"
            rows={5}
            spellcheck={false}
            placeholder={'groups=engineers:member\ngroups=platform-admins:owner'}
            aria-describedby={`${id}-hint`}
            defaultValue={rules.map(({ claim, value, role }) => `${claim}=${value}:${role}`).join('\n')}
          />
          <small id={`${id}-hint`}>
            One claim=value:role per line; the role is owner or member. A * at the end of a value accepts
            every value that begins so. People without a fitting rule get no access.
          </small>
        </div>
        <label class="check">
          <input type="checkbox" name="required" defaultChecked={isRequired} />
          <span>
            Require company sign-in{' '}
            <small class="faint">Local owners can still sign in with their own passkey or password.</small>
          </span>
        </label>
      </Form>
    </Dialog>
  )
}

const readRules = (text: string): ConsoleInput<'company.update'>['rules'] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const at = line.lastIndexOf(':')
      const role = line.slice(at + 1)
      const condition = splitCondition(line.slice(0, Math.max(at, 0)))
      if (condition && (role === 'owner' || role === 'member')) return { ...condition, role }
      throw new Explained(`“${line}” is not a rule. Write claim=value:member or claim=value:owner.`)
    })
