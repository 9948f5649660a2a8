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
import { createWorkCounts, type WorkCounts } from '@selvedge/service-kit/work'
import type { TrustedIssuer } from '../../registry/projects/issuers.ts'
import type { IssuerKeys } from './issuer-keys.ts'

/**
 * @returns a function that verifies form, key, signature and times of a token
 * @throws (the function) TokenError, or OAuthError `temporarily_unavailable` while there are no keys of the issuer
 */
export type RulesVerifier = (
  rules: readonly Pick<TrustedIssuer, 'issuer' | 'allowsPrivate' | 'algorithms'>[],
  token: string,
  accountId: string,
) => Promise<FederatedClaims>

/** See {@link RulesVerifier}: projects and companies share its keys and its limits. */
export function createRulesVerifier(issuerKeys: Pick<IssuerKeys, 'verifierOf' | 'describe'>): RulesVerifier {
  const waiting = createWaiting()
  const profiles = new Map<string, TokenProfile<FederatedClaims>>()

  /** The same object for the same algorithms: verified tokens are cached for one profile. */
  function profileOf(rules: readonly Pick<TrustedIssuer, 'algorithms'>[]): TokenProfile<FederatedClaims> {
    const algorithms = signatureAlgorithms.filter((each) =>
      rules.some((rule) => rule.algorithms.includes(each)),
    )
    const name = algorithms.join(' ')
    let profile = profiles.get(name)
    if (!profile) profiles.set(name, (profile = federatedIdProfile(algorithms)))
    return profile
  }

  return async (rules, token, accountId) => {
    const { issuer } = rules[0]!
    const named = { issuer, allowsPrivate: rules.some(({ allowsPrivate }) => allowsPrivate) }
    const hasKeys = () => issuerKeys.describe(named).count > 0
    if (!hasKeys()) waiting.refuseMany(accountId, issuer)
    try {
      const verified = issuerKeys.verifierOf(named).verify(token, profileOf(rules), '')
      return verified instanceof Promise ? await waiting.follow(accountId, issuer, verified) : verified
    } catch (cause) {
      const { problem } = issuerKeys.describe(named)
      if (hasKeys() || problem === null || !(cause instanceof TokenError)) throw cause
      const why = `the keys of the issuer ${describeValue(issuer)} could not be fetched; try again later`
      throw unavailable(why, new Error(problem))
    }
  }
}

const unavailable = (why: string, cause?: Error) =>
  new OAuthError('temporarily_unavailable', why, { cause, status: 503, retryAfter: 10 })

/** Issuers without keys that the requests of one account wait for at the same time. */
const maxWaiting = 8

/** Which issuers each account waits for: one with many slow issuers must not use up the fetches of all accounts. */
function createWaiting() {
  /** Requests that wait, by account and issuer. */
  const waiting = new Map<string, WorkCounts<string>>()

  return {
    /** @throws OAuthError `temporarily_unavailable` if the account waits for many other issuers */
    refuseMany(accountId: string, issuer: string): void {
      const own = waiting.get(accountId)
      if (own && own.owners >= maxWaiting && own.of(issuer) === 0)
        throw unavailable(`the account waits for the keys of ${maxWaiting} issuers already; try again later`)
    },
    async follow<T>(accountId: string, issuer: string, work: Promise<T>): Promise<T> {
      const own = waiting.get(accountId) ?? createWorkCounts()
      waiting.set(accountId, own)
      try {
        return await own.during(issuer, () => work)
      } finally {
        if (own.underWay === 0) waiting.delete(accountId)
      }
    },
  }
}
