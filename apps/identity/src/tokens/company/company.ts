/** Company sign-in: where its parts meet. Keys and metadata are fetched by the rules for trusted issuers. */
import type { Clock } from '@selvedge/service-kit/clock'
import { createGuardedGet } from '@selvedge/service-kit/http'
import type { Outbound } from '@selvedge/service-kit/network'
import { readForeignKeySet } from '@selvedge/service-kit/tokens'
import type { OneTime } from '../../registry/credentials/one-time.ts'
import type { SigningKeys } from '../../registry/keys/signing-keys.ts'
import type { Companies } from '../../registry/people/companies.ts'
import type { RulesVerifier } from '../federation/verify-by-rules.ts'
import { createCompanyClient } from './client.ts'
import { type CompanySignIns, createCompanySignIns } from './company-sign-in.ts'
import { createReadMetadata } from './metadata.ts'
import { createTestCompany } from './test-company.ts'
import { createTurns } from './turns.ts'

export interface CompanyTokens extends CompanySignIns {
  /** What the provider of a company lacks. */
  readonly test: ReturnType<typeof createTestCompany>
}

export interface CompanyTokensParts {
  readonly clock: Clock
  readonly keys: Pick<SigningKeys, 'sign'>
  readonly oneTime: OneTime
  readonly companies: Companies
  readonly verify: RulesVerifier
  readonly network: Outbound
  readonly secret: Buffer
  readonly consoleUrl: () => string
}

export function createCompanyTokens(parts: CompanyTokensParts): CompanyTokens {
  const readMetadata = createReadMetadata(parts)
  const signIns = createCompanySignIns({ ...parts, client: createCompanyClient({ ...parts, readMetadata }) })
  const inTurn = createTurns()
  return {
    redirectUri: signIns.redirectUri,
    begin: (company, visitor) => inTurn(company.domain, () => signIns.begin(company, visitor)),
    finish: (domain, query, jkt) => inTurn(domain, () => signIns.finish(domain, query, jkt)),
    test: createTestCompany({
      // What was fetched before must not hide what is wrong now.
      readMetadata: createReadMetadata(parts),
      redirectUri: signIns.redirectUri,
      async readKeys(company) {
        const { jwks_uri: url } = await readMetadata(company)
        const { allowsPrivate } = company
        return readForeignKeySet(await createGuardedGet({ allowsPrivate, outbound: parts.network })(url)).size
      },
    }),
  }
}
