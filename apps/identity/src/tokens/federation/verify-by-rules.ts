/** Verifies the ID token of an issuer by the algorithms and the address that the rules of a project state for it. */
import { OAuthError } from '@selvedge/protocol'
import {
  describeValue,
  type FederatedClaims,
  federatedIdProfile,
  signatureAlgorithms,
  TokenError,
  type TokenProfile,
} from '@selvedge/protocol/tokens'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { IssuerKeys } from './issuer-keys.ts'

/**
 * @returns a function that verifies form, key, signature and times of a token
 * @throws (the function) TokenError, or OAuthError `temporarily_unavailable` while there are no keys of the issuer
 */
export function createRulesVerifier(
  issuerKeys: IssuerKeys,
): (rules: readonly TrustedIssuer[], token: string) => Promise<FederatedClaims> {
  const profiles = new Map<string, TokenProfile<FederatedClaims>>()

  /** The same object for the same algorithms: verified tokens are cached for one profile. */
  function profileOf(rules: readonly TrustedIssuer[]): TokenProfile<FederatedClaims> {
    const algorithms = signatureAlgorithms.filter((each) =>
      rules.some((rule) => rule.algorithms.includes(each)),
    )
    const name = algorithms.join(' ')
    let profile = profiles.get(name)
    if (!profile) profiles.set(name, (profile = federatedIdProfile(algorithms)))
    return profile
  }

  return async (rules, token) => {
    const { issuer } = rules[0]!
    const named = { issuer, allowsPrivate: rules.some(({ allowsPrivate }) => allowsPrivate) }
    try {
      return await issuerKeys.verifierOf(named).verify(token, profileOf(rules), '')
    } catch (cause) {
      const { count, problem } = issuerKeys.describe(named)
      if (count > 0 || problem === null || !(cause instanceof TokenError)) throw cause
      const why = `the keys of the issuer ${describeValue(issuer)} could not be fetched; try again later`
      throw new OAuthError('temporarily_unavailable', why, {
        cause: new Error(problem),
        status: 503,
        retryAfter: 10,
      })
    }
  }
}
