/**
 * ID tokens of other issuers: chosen by the issuer that a token claims, which only looks up the rules of the project; everything else is
 * decided by these rules and the keys of the issuer. No rule, no entry.
 */
import { OAuthError } from '@selvedge/protocol'
import {
  type FederatedClaims,
  federatedIdProfile,
  maxTokenLength,
  signatureAlgorithms,
  TokenError,
  type TokenProfile,
} from '@selvedge/protocol/tokens'
import type { FederatedSubject, FederatedSubjects } from '../../registry/projects/federated-subjects.ts'
import type { ProjectIssuers, TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { Project } from '../../registry/projects/projects.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { isEnded, matchRule, ruleProblem } from './match-rule.ts'

/** What a token says of itself, which nobody has verified. */
interface Claimed {
  readonly iss: string
  readonly alg: unknown
}

/** A token that was let in. */
export interface LetIn {
  readonly rule: TrustedIssuer
  readonly claims: FederatedClaims
  readonly subject: FederatedSubject
}

/** What became of a token that was only tested. */
export interface TestedToken {
  readonly accepted: boolean
  /** Why no rule was asked, with the value; null: form, key, signature and times are right. */
  readonly problem: string | null
  readonly subject: string | null
  readonly rules: readonly { readonly issuerId: string; readonly problem: string | null }[]
}

export interface Federation {
  /**
   * @param claimed what the token claims: {@link readClaimed}
   * @throws TokenError, or OAuthError `invalid_scope`, `temporarily_unavailable` while the issuer brings no keys
   */
  letIn(project: Project, of: ProjectIssuers, claimed: Claimed, token: string, scope: string): Promise<LetIn>
  /** Runs every check on a token for some rules, as if it came to the token endpoint, and issues nothing. */
  test(rules: readonly TrustedIssuer[], issuer: string, token: string): Promise<TestedToken>
}

/** The issuer that a token claims, and its algorithm; undefined if it is no JWT with an issuer. */
export function readClaimed(token: string): Claimed | undefined {
  if (token.length > maxTokenLength) return undefined
  const [header = '', payload = ''] = token.split('.', 2)
  try {
    const { iss } = readPart(payload)
    return typeof iss === 'string' ? { iss, alg: readPart(header).alg } : undefined
  } catch {
    return undefined
  }
}

const readPart = (part: string): Record<string, unknown> =>
  Object(JSON.parse(Buffer.from(part, 'base64url').toString()))

export function createFederation({
  issuerKeys,
  federatedSubjects,
}: {
  readonly issuerKeys: IssuerKeys
  readonly federatedSubjects: FederatedSubjects
}): Federation {
  const profiles = new Map<string, TokenProfile<FederatedClaims>>()

  /** The same object for the same algorithms: what was verified is remembered for one profile. */
  function profileOf(rules: readonly TrustedIssuer[]): TokenProfile<FederatedClaims> {
    const algorithms = signatureAlgorithms.filter((each) =>
      rules.some((rule) => rule.algorithms.includes(each)),
    )
    const name = algorithms.join(' ')
    let profile = profiles.get(name)
    if (!profile) profiles.set(name, (profile = federatedIdProfile(algorithms)))
    return profile
  }

  /** @param rules of one issuer @throws TokenError, or OAuthError `temporarily_unavailable` */
  async function verify(rules: readonly TrustedIssuer[], token: string): Promise<FederatedClaims> {
    const { issuer } = rules[0]!
    const named = { issuer, allowsPrivate: rules.some(({ allowsPrivate }) => allowsPrivate) }
    try {
      return await issuerKeys.verifierOf(named).verify(token, profileOf(rules), '')
    } catch (cause) {
      const { count, problem } = issuerKeys.describe(named)
      if (count > 0 || problem === null || !(cause instanceof TokenError)) throw cause
      const why = `the keys of the issuer ${JSON.stringify(issuer)} could not be fetched; try again later`
      throw new OAuthError('temporarily_unavailable', why, {
        cause: new Error(problem),
        status: 503,
        retryAfter: 10,
      })
    }
  }

  async function subjectOf(
    project: Pick<Project, 'accountId'>,
    of: ProjectIssuers,
    rule: TrustedIssuer,
    { sub }: FederatedClaims,
  ): Promise<FederatedSubject> {
    if (rule.as === 'workload') return federatedSubjects.workload(of, rule, project.accountId, sub)
    const found = await federatedSubjects.person(rule, sub)
    if (found) return found
    const why = `the subject ${JSON.stringify(sub)} of the ID token is linked to no person of the account`
    throw new TokenError('token_untrusted', `${why}; "selvedge admin issuer link" links it`)
  }

  return {
    async letIn(project, of, { iss, alg }, token, scope) {
      const rules = of.rules.filter(({ issuer }) => issuer === iss)
      const claims = await verify(rules, token)
      const rule = matchRule(rules, alg as string, claims, scope)
      const subject = await subjectOf(project, of, rule, claims)
      if (isEnded(subject, claims)) {
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
          `claim "iss" is ${JSON.stringify(claimed.iss)}; the rules are for ${JSON.stringify(issuer)}`,
        )
      try {
        const claims = await verify(rules, token)
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
