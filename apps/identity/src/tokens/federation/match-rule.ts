/** Which rule of a project lets the claims of a verified ID token in. */
import { OAuthError } from '@selvedge/protocol'
import {
  audienceProblem,
  conditionsProblem,
  describeValue,
  type FederatedClaims,
  hasScope,
  leeway,
  TokenError,
} from '@selvedge/protocol/tokens'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'

/**
 * Why a rule does not let a token in, with the value that was found; undefined if it does.
 *
 * @param algorithm of the signature that was verified
 */
export function ruleProblem(
  rule: TrustedIssuer,
  algorithm: string,
  claims: FederatedClaims,
): string | undefined {
  if (!rule.algorithms.includes(algorithm as never))
    return `the algorithm is ${describeValue(algorithm)}; the rule needs ${rule.algorithms.join(' or ')}`
  if (isFromBefore(rule, claims))
    return `claim "iat" is ${claims.iat}; what was issued before ${rule.notBefore + leeway} was revoked`
  return (
    audienceProblem(claims, rule.audiences, rule.conditions) ?? conditionsProblem(claims, rule.conditions)
  )
}

/** Whether an ID token may be from before everything was revoked. Its issuer may have another time than this service. */
export const isFromBefore = (
  { notBefore }: { readonly notBefore: number },
  { iat }: FederatedClaims,
): boolean => notBefore > 0 && iat - leeway < notBefore

/**
 * The rule that decides: the oldest one that lets the token in and gives all scopes.
 *
 * @param rules of the issuer of the token
 * @param scope that was asked for, separated by spaces
 * @throws TokenError without a rule, OAuthError `invalid_scope` if no rule gives all scopes. A stranger who has a token of the
 *   same issuer learns no value of a rule.
 */
export function matchRule(
  rules: readonly TrustedIssuer[],
  algorithm: string,
  claims: FederatedClaims,
  scope: string,
): TrustedIssuer {
  const fitting = rules.filter((rule) => ruleProblem(rule, algorithm, claims) === undefined)
  const [first] = fitting
  if (!first) throw new TokenError('token_untrusted', describeMisfit(rules, claims))
  const asked = scope.split(' ')
  const found = fitting.find(({ scopes }) => asked.every((each) => scopes.includes(each)))
  if (found) return found
  const more = asked.filter((each) => !hasScope(first.scopes.join(' '), each))
  throw new OAuthError('invalid_scope', `the rule for this token does not give ${more.join(' ')}`)
}

function describeMisfit(rules: readonly TrustedIssuer[], claims: FederatedClaims): string {
  if (rules.every((rule) => isFromBefore(rule, claims)))
    return 'the ID token is from before its issuer was revoked in this project; get a new one'
  const sub = describeValue(claims.sub)
  return `no rule of the project lets the ID token of ${sub} in; "selvedge admin issuer test" shows why`
}
