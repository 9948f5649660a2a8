/** Which rule lets a verified ID token in, and what a stranger is shown of it. */
import type { OAuthError } from '@selvedge/protocol'
import type { FederatedClaims, TokenError } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import { isFromBefore, matchRule, ruleProblem } from './match-rule.ts'

const rule: TrustedIssuer = {
  issuerId: 'rule-1',
  clientId: 'client-1',
  issuer: 'https://issuer.example',
  audiences: ['client-1'],
  conditions: [{ claim: 'repository', value: 'org/repo' }],
  scopes: ['edge:mcm'],
  as: 'workload',
  algorithms: ['ES256', 'EdDSA'],
  allowsPrivate: false,
  createdAt: '2026-01-01T00:00:00.000Z',
  notBefore: 0,
}
const claims = {
  jti: 'token-1',
  iss: rule.issuer,
  sub: 'job-1',
  aud: 'client-1',
  iat: 1000,
  exp: 1300,
  repository: 'org/repo',
} as FederatedClaims

/** The ID of the rule that decides, or the refusal. */
const match = (rules: readonly TrustedIssuer[], scope = 'edge:mcm', algorithm = 'ES256', of = claims) => {
  try {
    return matchRule(rules, algorithm, of, scope).issuerId
  } catch (cause) {
    const { reason, code, message } = cause as TokenError & OAuthError
    return `${reason ?? code}: ${message}`
  }
}

it.each([
  ['that a rule has', 'EdDSA', undefined],
  ['that it does not have', 'RS256', 'the algorithm is "RS256"; the rule needs ES256 or EdDSA'],
  ['that is unknown', 'HS256', 'the algorithm is "HS256"; the rule needs ES256 or EdDSA'],
])('with an algorithm %s', (_, algorithm, problem) => {
  expect(ruleProblem(rule, algorithm, claims)).toBe(problem)
})

it('names the audience before the conditions, and the conditions with the value', () => {
  const other = { ...claims, aud: 'another', repository: 'fork/repo' } as FederatedClaims
  expect(ruleProblem(rule, 'ES256', other)).toContain('claim "aud" is "another"')
  expect(ruleProblem(rule, 'ES256', { ...other, aud: 'client-1' } as FederatedClaims)).toContain(
    'claim "repository" is "fork/repo"; the rule needs "org/repo"',
  )
})

it.each([
  [0, 0, false],
  [0, 1, false],
  [1000, 1059, true],
  [1000, 1060, false],
  [1000, 1061, false],
  [1000, 940, true],
])('a revocation at second %i refuses a token of second %i: %s', (notBefore, iat, isRefused) => {
  const token = { ...claims, iat } as FederatedClaims
  expect(isFromBefore({ notBefore }, token)).toBe(isRefused)
  expect(ruleProblem({ ...rule, notBefore }, 'ES256', token)).toBe(
    isRefused ? `claim "iat" is ${iat}; what was issued before ${notBefore + 60} was revoked` : undefined,
  )
})

it('the oldest rule that gives all scopes decides', () => {
  const more = { ...rule, issuerId: 'rule-2', scopes: ['edge:mcm', 'edge:clusters'] }
  const most = { ...more, issuerId: 'rule-3' }
  const all = [rule, more, most]
  expect(match(all)).toBe('rule-1')
  expect(match(all, 'edge:clusters')).toBe('rule-2')
  expect(match(all, 'edge:mcm edge:clusters')).toBe('rule-2')
})

it('a scope that no fitting rule gives is named, by what the oldest one lacks', () => {
  const first = { ...rule, scopes: ['edge:mcm', 'edge:account:associate'] }
  const other = { ...rule, issuerId: 'rule-2', scopes: ['openid'], algorithms: ['RS256'] as const }
  expect(match([first, other], 'edge:mcm openid edge:account:associate edge:clusters')).toBe(
    'invalid_scope: the rule for this token does not give openid edge:clusters',
  )
})

it('a rule that does not fit gives nothing, whatever its scopes are', () => {
  const wide = { ...rule, issuerId: 'wide', scopes: ['edge:mcm', 'edge:clusters'], audiences: ['another'] }
  expect(match([wide, rule])).toBe('rule-1')
  expect(match([wide, rule], 'edge:clusters')).toContain('invalid_scope')
})

it('a stranger is shown no value of a rule', () => {
  const refusal = 'token_untrusted: no rule of the project lets the ID token of "job-1" in'
  const stranger = { ...claims, repository: 'fork/repo' } as FederatedClaims
  expect(match([rule], 'edge:mcm', 'ES256', stranger)).toBe(
    `${refusal}; "selvedge admin issuer test" shows why`,
  )
  expect(match([rule], 'edge:mcm', 'RS256')).toContain(refusal)
})

it('reports that a new token is needed only if every rule was revoked after this one was issued', () => {
  const revoked = { ...rule, notBefore: 2000 }
  const renew = 'from before its issuer was revoked in this project; get a new one'
  expect(match([revoked])).toContain(renew)
  expect(match([revoked, { ...rule, audiences: ['another'] }])).not.toContain(renew)
})
