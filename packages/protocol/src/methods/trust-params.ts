/** Parameters and results of the methods that change which issuers a project trusts: the operator's and the console's. */
import * as z from 'zod'
import { maxSubjectLength } from '../tokens/federated-token.ts'
import { signatureAlgorithms } from '../tokens/profiles.ts'
import { scopeNames } from '../tokens/scopes.ts'
import { trustLimits } from '../tokens/trust-rules.ts'
import { param } from './method.ts'
import { isoTime } from './values.ts'

export const issuerUrl = param(
  'issuer',
  z.string().min(1).max(trustLimits.issuerLength),
  'the URL of an issuer in its usual form, exactly as its tokens name it',
  'URL of the issuer.',
)

export const issuerSettings = [
  param(
    'audiences',
    z.array(z.string().min(1).max(trustLimits.audienceLength)).min(1).max(trustLimits.audiences),
    `a list of 1 to ${trustLimits.audiences} texts`,
    'Audiences; a token names one of them.',
  ),
  param(
    'conditions',
    z
      .array(z.strictObject({ claim: z.string(), value: z.string() }))
      .min(1)
      .max(trustLimits.conditions),
    `a list of 1 to ${trustLimits.conditions} conditions with "claim" and "value"; a "*" may only be the last character of a value, after at least one other`,
    'What the claims of a token must be. It must meet all conditions.',
  ),
  param(
    'scopes',
    z.array(z.enum(scopeNames)).min(1),
    `a list of ${scopeNames.join(', ')}`,
    'Scopes that such a token may get.',
  ),
  param(
    'as',
    z.enum(['person', 'workload']),
    'person or workload',
    'Kind of subject: workloads act for the account, people for themselves.',
  ),
  param(
    'algorithms',
    z.array(z.enum(signatureAlgorithms)).min(1),
    `a list of ${signatureAlgorithms.join(', ')}`,
    'Algorithms with which the issuer may sign.',
  ),
] as const

export const subject = param(
  'subject',
  z.string().min(1).max(maxSubjectLength),
  `a text of 1 to ${maxSubjectLength} characters`,
  'The "sub" of the tokens.',
)

const keyState = z.object({
  count: z.number().int().describe('Keys that can be used'),
  fetchedAt: isoTime.nullable(),
  validUntil: isoTime.nullable().describe('Until when the keys are used if the issuer does not answer'),
  problem: z.string().nullable().describe('Why the last fetch brought no keys'),
})

/** A rule by which a project trusts an issuer, as it is shown. */
export const trustedIssuer = z.object({
  issuerId: z.string(),
  clientId: z.string(),
  issuer: z.string(),
  audiences: z.array(z.string()),
  conditions: z.array(z.object({ claim: z.string(), value: z.string() })),
  scopes: z.array(z.string()),
  as: z.enum(['person', 'workload']),
  algorithms: z.array(z.enum(signatureAlgorithms)),
  allowsPrivate: z.boolean(),
  createdAt: isoTime,
  revokedAt: isoTime.nullable().describe('ID tokens from before are refused'),
  warnings: z.array(z.string()),
  keys: keyState,
  subjects: z.array(
    z.object({ subject: z.string(), email: z.string().nullable(), lastUsedAt: isoTime.nullable() }),
  ),
})

export type ShownTrustedIssuer = z.infer<typeof trustedIssuer>

export const testedToken = z.object({
  accepted: z.boolean(),
  problem: z.string().nullable().describe('Why no rule was compared with the token'),
  subject: z.string().nullable(),
  rules: z.array(z.object({ issuerId: z.string(), problem: z.string().nullable() })),
})
