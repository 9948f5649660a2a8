import { useState } from 'preact/hooks'
import { api } from '../../api.ts'
import { goToCompany } from '../../company.ts'
import { Action } from '../../parts/action.tsx'
import { Guarded } from '../../parts/guarded.tsx'
import { lazyView } from '../../parts/lazy-view.tsx'
import { Card } from '../../parts/view.tsx'
import { useHome } from '../../state/viewer.ts'

export type Company = Awaited<ReturnType<(typeof api)['company.list']>>[number]

const CompanyRules = lazyView(() => import('./company-rules.tsx'))

interface CompaniesProps {
  readonly companies: readonly Company[]
  readonly onChanged: () => Promise<void>
}

/** Companies with a provider of their own for this account. */
export default function Companies({ companies, onChanged }: CompaniesProps) {
  return (
    <Card title="Company sign-in" flush>
      <ul class="rows">
        {companies.map((company) => (
          <CompanyRow key={company.companyId} company={company} onChanged={onChanged} />
        ))}
      </ul>
    </Card>
  )
}

function CompanyRow({ company, onChanged }: { company: Company; onChanged: () => Promise<void> }) {
  const { viewer } = useHome()
  const [isOpen, setOpen] = useState(false)
  const { companyId, domain, issuer, isRequired, isLinked, rules } = company
  const isLocal = viewer.company === null
  const count = `${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}`
  return (
    <li>
      <div>
        <strong>{domain}</strong> {isRequired && <span class="faint">required</span>}
        <small>
          {issuer}
          {viewer.role === 'owner' && ` · ${count}`}
          {isLinked && ' · linked to you'}
        </small>
      </div>
      <span class="line tight">
        {isLocal && !isLinked && (
          <Action kind="quiet" label={`Link ${domain}`} run={() => goToCompany(domain, 'link')}>
            Link
          </Action>
        )}
        {isLocal && isLinked && (
          <Guarded
            kind="quiet"
            label={`Unlink ${domain}`}
            title={`Unlink ${domain}?`}
            consequence="You can’t sign in with this company any more. Your other sign-in methods stay."
            run={async () => {
              await api['company.unlink']({ companyId })
              await onChanged()
            }}
          >
            Unlink
          </Guarded>
        )}
        {viewer.role === 'owner' && (
          <button type="button" class="btn" aria-label={`Edit ${domain}`} onClick={() => setOpen(true)}>
            Edit
          </button>
        )}
      </span>
      {isOpen && <CompanyRules company={company} onSaved={onChanged} onClose={() => setOpen(false)} />}
    </li>
  )
}
