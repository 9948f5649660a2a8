/**
 * ID tokens of other issuers. The issuer that a token claims only selects the rules of the project; these rules and the keys of the issuer
 * decide everything else. No rule, no entry.
 */
import { OAuthError } from '@selvedge/protocol'
import { describeValue, type FederatedClaims, TokenError } from '@selvedge/protocol/tokens'
import type { FederatedSubject, FederatedSubjects } from '../../registry/projects/federated-subjects.ts'
import type { ProjectIssuers, TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { isFromBefore, matchRule, ruleProblem } from './match-rule.ts'
import { type Claimed, readClaimed } from './read-claimed.ts'
import type { RulesVerifier } from './verify-by-rules.ts'

/** A token that was let in. */
interface LetIn {
  readonly rule: TrustedIssuer
  readonly claims: FederatedClaims
  readonly subject: FederatedSubject
}

/** What became of a token that was only tested. */
interface TestedToken {
  readonly accepted: boolean
  /** Why no rule was asked, with the value; null: form, key, signature and times are right. */
  readonly problem: string | null
  readonly subject: string | null
  readonly rules: readonly { readonly issuerId: string; readonly problem: string | null }[]
}

export interface Federation {
  /** What a token claims before it is verified; undefined if it is no JWT with an issuer. */
  readClaimed(token: string): Claimed | undefined
  /**
   * @param claimed what {@link Federation.readClaimed} returned for the token
   * @throws TokenError, or OAuthError `invalid_scope`, `temporarily_unavailable` while the issuer brings no keys
   */
  letIn(project: Project, of: ProjectIssuers, claimed: Claimed, token: string, scope: string): Promise<LetIn>
  /** Runs every check on a token for some rules, as if it came to the token endpoint, and issues nothing. */
  test(rules: readonly TrustedIssuer[], issuer: string, token: string): Promise<TestedToken>
}

export function createFederation({
  verify,
  federatedSubjects,
}: {
  readonly verify: RulesVerifier
  readonly federatedSubjects: FederatedSubjects
}): Federation {
  async function subjectOf(
    project: Pick<Project, 'accountId'>,
    of: ProjectIssuers,
    rule: TrustedIssuer,
    { sub }: FederatedClaims,
  ): Promise<FederatedSubject> {
    if (rule.as === 'workload') return federatedSubjects.workload(of, rule, project.accountId, sub)
    const found = await federatedSubjects.person(rule, sub)
    if (found) return found
    const why = `the subject ${describeValue(sub)} of the ID token is linked to no person of the account`
    throw new TokenError('token_untrusted', `${why}; "selvedge admin issuer link" links it`)
  }

  return {
    readClaimed,
    async letIn(project, of, { iss, alg }, token, scope) {
      const rules = of.rules.filter(({ issuer }) => issuer === iss)
      const claims = await verify(rules, token, project.accountId)
      const rule = matchRule(rules, alg as string, claims, scope)
      const subject = await subjectOf(project, of, rule, claims)
      if (isFromBefore(subject, claims)) {
        const why = 'the ID token is from before its subject was revoked in this project; get a new one'
        throw new TokenError('token_revoked', why)
      }
      return { rule, claims, subject }
    },
    async test(rules, issuer, token) {
      const refused = (problem: string) => ({ accepted: false, problem, subject: null, rules: [] })
      const claimed = readClaimed(token)
      if (!claimed) return refused('the token is not a JWT with the claim "iss"')
      if (claimed.iss !== issuer)
        return refused(
          `claim "iss" is ${describeValue(claimed.iss)}; the rules are for ${describeValue(issuer)}`,
        )
      try {
        const claims = await verify(rules, token, `test of ${rules[0]!.clientId}`)
        const tested = rules.map((rule) => ({
          issuerId: rule.issuerId,
          problem: ruleProblem(rule, claimed.alg as string, claims) ?? null,
        }))
        const accepted = tested.some(({ problem }) => problem === null)
        return { accepted, problem: null, subject: claims.sub, rules: tested }
      } catch (cause) {
        if (cause instanceof TokenError) return refused(cause.message)
        if (cause instanceof OAuthError && cause.cause instanceof Error)
          return refused(`${cause.message}: ${cause.cause.message}`)
        throw cause
      }
    },
  }
}
