/** ID tokens of other OpenID Connect issuers that a project trusts. */
import type { BaseClaims, SignatureAlgorithm, TokenProfile } from './profiles.ts'

/** What is read of such a token; every other claim is for the rules of the project. `jti` may be absent, in spite of its type. */
export interface FederatedClaims extends BaseClaims {
  readonly auth_time?: number
  readonly [claim: string]: unknown
}

/** Longest `sub` in characters. OpenID Connect Core § 2 allows 255; CI systems put longer names of branches into it. */
export const maxSubjectLength = 512

/** Seconds for which an ID token may be valid in all. Providers issue them for minutes to a day. */
export const maxFederatedLifetimeSeconds = 86_400

/** The profile of the ID tokens that are signed with one of some algorithms. */
export const federatedIdProfile = (
  algorithms: readonly SignatureAlgorithm[],
): TokenProfile<FederatedClaims> => ({
  label: 'ID token',
  typ: 'JWT',
  maxLifetime: maxFederatedLifetimeSeconds,
  algorithms,
  isForeign: true,
  check({ sub, auth_time }) {
    if (typeof sub !== 'string' || sub === '') return 'claim "sub" is not a non-empty string'
    if (sub.length > maxSubjectLength) return `claim "sub" has more than ${maxSubjectLength} characters`
    // It is shown to people and written to logs.
    if (/\p{Cc}/u.test(sub)) return 'claim "sub" has a control character'
    if (auth_time !== undefined && typeof auth_time !== 'number') return 'claim "auth_time" is not a number'
    return undefined
  },
})
