/** Company sign-in, for the operator: who decides which account a domain belongs to. */
import * as z from 'zod'
import { company, companyDomain, companyRules, testedCompany } from '../methods/company-params.ts'
import { method, param } from '../methods/method.ts'
import { issuerUrl } from '../methods/trust-params.ts'
import { companyLimits } from '../tokens/company-rules.ts'

const access = { caller: 'operator' } as const

export const companiesMethods = {
  'company.add': method({
    name: 'company.add',
    summary: 'Lets people of a domain sign in to the console with an OpenID provider.',
    params: [
      companyDomain,
      param(
        'email',
        z.email().max(254).toLowerCase().nullable(),
        'an e-mail address or null',
        'E-mail address of the account; null: the only account there is.',
      ),
      issuerUrl,
      param(
        'clientId',
        z.string().min(1).max(companyLimits.clientIdLength),
        `a text of 1 to ${companyLimits.clientIdLength} characters`,
        'Client ID of this service at the provider.',
      ),
      param(
        'clientAuth',
        z.enum(['none', 'client_secret', 'private_key_jwt']),
        'a client authentication, such as client_secret',
        'How this service authenticates at the token endpoint; private_key_jwt: with its own signing key.',
      ),
      param(
        'clientSecret',
        z.string().min(1).max(companyLimits.secretLength).nullable(),
        `a text of at most ${companyLimits.secretLength} characters, or null`,
        'The secret. It is stored encrypted and never shown.',
      ),
      companyRules,
      param(
        'allowsPrivate',
        z.boolean(),
        'true or false',
        'Whether the provider may be on this machine or in a private network.',
      ),
    ],
    result: company,
    reasons: ['not_found', 'already_exists', 'conflict'],
    access,
  }),
  'company.list': method({
    name: 'company.list',
    summary: 'Companies with a provider of their own for the console.',
    params: [],
    result: z.array(company),
    reasons: [],
    access,
  }),
  'company.test': method({
    name: 'company.test',
    summary:
      'Fetches the metadata and keys of the provider of a company, and reports what is not as it has to be.',
    params: [companyDomain],
    result: testedCompany,
    reasons: ['not_found'],
    access,
  }),
  'company.remove': method({
    name: 'company.remove',
    summary: 'Removes a company. Its sessions end, and the memberships that its rules gave.',
    params: [companyDomain],
    result: z.object({ companyId: z.string() }),
    reasons: ['not_found'],
    access,
  }),
} as const
