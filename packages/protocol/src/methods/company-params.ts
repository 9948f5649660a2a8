/** Parameters and results of the methods for company sign-in: the operator's and the console's. */
import * as z from 'zod'
import { companyLimits } from '../tokens/company-rules.ts'
import { param } from './method.ts'
import { isoTime } from './values.ts'

export const companyDomain = param(
  'domain',
  z.string().min(3).max(companyLimits.domainLength),
  'a domain name in lower case',
  'Domain of the company, such as example.com.',
)

const role = z.enum(['owner', 'member'])
const rule = z.strictObject({ claim: z.string(), value: z.string(), role })

export const companyRules = param(
  'rules',
  z.array(rule).max(companyLimits.rules),
  `a list of at most ${companyLimits.rules} rules with "claim", "value" and "role"`,
  'Which people get which role, by a claim of their ID token; owner is the stronger one. Without a rule that fits, a person gets no access.',
)

/** A company as it is shown. Its client secret never is. */
export const company = z.object({
  companyId: z.string(),
  accountId: z.string(),
  domain: z.string(),
  issuer: z.string(),
  clientId: z.string(),
  clientAuth: z.enum(['none', 'client_secret', 'private_key_jwt']),
  redirectUri: z.string().describe('What is registered at the provider, exactly'),
  rules: z.array(rule),
  isRequired: z.boolean().describe('Whether people of the account who are no local owners have to use it'),
  allowsPrivate: z.boolean(),
  createdAt: isoTime,
  people: z.number().int().describe('People who are linked'),
})

export type ShownCompany = z.infer<typeof company>

export const testedCompany = z.object({
  isReady: z.boolean(),
  redirectUri: z.string(),
  checks: z.array(z.object({ name: z.string(), problem: z.string().nullable() })),
})
