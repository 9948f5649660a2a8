/** Whether the provider of a company can be used, for the operator who sets it up. */
import type { Company } from '../../registry/people/companies.ts'
import type { ProviderMetadata, ReadMetadata } from './metadata.ts'

interface Check {
  readonly name: string
  /** null: it is as it has to be. */
  readonly problem: string | null
}

export interface TestedCompany {
  readonly isReady: boolean
  readonly redirectUri: string
  readonly checks: Check[]
}

export interface CompanyTestParts {
  readonly readMetadata: ReadMetadata
  readonly readKeys: (company: Company) => Promise<number>
  readonly redirectUri: (domain: string) => string
}

export const createTestCompany =
  ({ readMetadata, readKeys, redirectUri }: CompanyTestParts) =>
  async (company: Company): Promise<TestedCompany> => {
    const checks: Check[] = []
    const check = async (name: string, work: () => Promise<string | null>) => {
      const problem = await work().catch((cause: Error) => cause.message.slice(0, 300))
      checks.push({ name, problem })
    }
    let metadata: ProviderMetadata | undefined
    await check('metadata', async () => {
      metadata = await readMetadata(company)
      return null
    })
    if (metadata)
      for (const [name, find] of Object.entries(metadataProblems))
        checks.push({ name, problem: find(metadata, company) })
    await check('keys', async () =>
      (await readKeys(company)) > 0 ? null : 'the provider publishes no key that can be used',
    )
    const rules = company.rules.length === 0 ? 'there is no rule, so no person gets access' : null
    checks.push({ name: 'rules', problem: rules })
    const isReady = checks.every(({ problem }) => problem === null)
    return { isReady, redirectUri: redirectUri(company.domain), checks }
  }

const lacks = (value: unknown, wanted: string): boolean => Array.isArray(value) && !value.includes(wanted)

const metadataProblems: Readonly<
  Record<string, (metadata: ProviderMetadata, company: Company) => string | null>
> = {
  'authorization code': ({ response_types_supported: types }) =>
    lacks(types, 'code') ? 'the provider does not support the response type "code"' : null,
  PKCE: ({ code_challenge_methods_supported: methods }) =>
    lacks(methods, 'S256') ? 'the provider does not support PKCE with S256' : null,
  'client authentication': ({ token_endpoint_auth_methods_supported: methods }, { clientAuth }) => {
    const usable =
      clientAuth === 'client_secret' ? ['client_secret_basic', 'client_secret_post'] : [clientAuth]
    return usable.every((each) => lacks(methods, each))
      ? `the provider does not support ${usable.join(' or ')}`
      : null
  },
}
