/** The operator's methods for company sign-in. */
import { RpcError } from '@selvedge/protocol'
import type { Accounts } from '../../registry/people/accounts.ts'
import type { Companies, Company } from '../../registry/people/companies.ts'
import type { CompanyTokens } from '../../tokens/company/company.ts'
import { accountOf } from './account-of.ts'
import type { AdminHandlers, Note } from './context.ts'

export interface AdminCompanyParts {
  readonly accounts: Accounts
  readonly companies: Companies
  readonly companySignIns: CompanyTokens
}

export function companyHandlers(parts: AdminCompanyParts & { readonly note: Note }) {
  const { accounts, companies, companySignIns, note } = parts

  const show = (company: Company, people: number) => ({
    ...company,
    rules: [...company.rules],
    redirectUri: companySignIns.redirectUri(company.domain),
    people,
  })

  /** @throws RpcError `not_found` */
  async function ofDomain(domain: string): Promise<Company> {
    const found = await companies.byDomain(domain)
    if (found) return found
    throw new RpcError('not_found', `there is no company with the domain ${JSON.stringify(domain)}`, {
      hint: 'See "selvedge admin company list".',
    })
  }

  return {
    'company.add': async ({ email, ...company }) => {
      const { accountId } = await accountOf(accounts, email)
      const made = await companies.create({ ...company, accountId })
      await note(accountId, 'company.add', made.companyId, `${made.domain} ${made.issuer}`)
      return show(made, 0)
    },
    'company.list': async () => (await companies.list()).map((each) => show(each, each.people)),
    'company.test': async ({ domain }) => companySignIns.test(await ofDomain(domain)),
    'company.remove': async ({ domain }) => {
      const company = await ofDomain(domain)
      await companies.remove(company)
      await note(company.accountId, 'company.remove', company.companyId, domain)
      return { companyId: company.companyId }
    },
  } satisfies AdminHandlers
}
