import type { KeyObject } from 'node:crypto'
import {
  type BaseClaims,
  checkClaims,
  describeValue,
  type JsonObject,
  leeway,
  openToken,
  type SignatureAlgorithm,
  TokenError,
  type TokenProfile,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '../clock/clock.ts'
import { RecentMap } from './recent-map.ts'
import { verifySignature } from './signatures.ts'

/** An issuer that is trusted, and its keys. */
export interface Issuer {
  readonly issuer: string
  /** @param algorithm of the signature; absent: ES256. A key that is published for another one is not returned */
  findKey(kid: string, algorithm?: SignatureAlgorithm): KeyObject | undefined
  /** Fetches the keys of a remote issuer again. Resolves with false if there cannot be newer ones. */
  refresh?(): Promise<boolean>
}

export interface TokenVerifier {
  /**
   * Checks a token wholly: form, header, issuer, signature, times, audience, claims. Revocation is the caller's.
   *
   * A promise comes back only where the key is not known yet and the issuer is asked for it.
   *
   * @throws TokenError
   */
  verify<C extends BaseClaims>(token: string, profile: TokenProfile<C>, audience: string): C | Promise<C>
  /** The same for a token that may have expired: its claims were true when it was issued. Nothing is cached. */
  verifyEnded<C extends BaseClaims>(token: string, profile: TokenProfile<C>, audience: string): Promise<C>
}

interface Verified<C extends BaseClaims = BaseClaims> {
  readonly claims: C
  readonly kid: string
  readonly algorithm: SignatureAlgorithm
  readonly key: KeyObject
}

interface Remembered extends Verified {
  readonly token: string
  readonly profile: object
  readonly audience: string
}

/**
 * Characters at the end of a token, which are of its signature, by which it is found in the cache. Hashing the whole token would cost
 * 0.8 µs, which is 3 % of a request to a service.
 */
const endLength = 43

/**
 * A cache of verified tokens, so that the signature of a token that is used ten times per second is
 * verified once. An entry belongs to one spelling of a token (an ECDSA signature has a valid twin, which is verified on its
 * own); revocation uses the `jti`, which both spellings share. It counts while its issuer has the key that verified it: when a
 * key is removed, so is what it signed.
 *
 * @param options.issuers of this kind of token, and no other: an issuer is never believed beyond its role
 * @param options.findIssuer the same for many issuers, by their URL
 */
export function createTokenVerifier(
  options: (
    | { readonly issuers: () => readonly Issuer[] }
    | { readonly findIssuer: (iss: string) => Issuer | undefined }
  ) & {
    readonly clock: Clock
    /** Maximum verified tokens in the cache; 0 if each token is used once. */
    readonly remembered: number
  },
): TokenVerifier {
  const { clock } = options
  const verified = new RecentMap<string, Remembered>(options.remembered)
  const headers = new RecentMap<string, JsonObject>(100)

  const issuerOf =
    'findIssuer' in options
      ? options.findIssuer
      : (iss: string) => options.issuers().find((each) => each.issuer === iss)

  const isValid = ({ claims, kid, algorithm, key }: Verified): boolean =>
    claims.exp + leeway > seconds(clock) && issuerOf(claims.iss)?.findKey(kid, algorithm) === key

  function check<C extends BaseClaims>(
    token: string,
    profile: TokenProfile<C>,
    audience: string,
    acceptEnded: boolean,
  ): Verified<C> | Promise<Verified<C>> {
    const { label } = profile
    const { jws, iss, kid } = openToken(token, profile, headers)
    const issuer = issuerOf(iss)
    if (!issuer) {
      const shown = JSON.stringify(iss.slice(0, 200))
      throw new TokenError(
        'token_untrusted',
        `the ${label} is of the issuer ${shown}, which is not trusted here`,
      )
    }
    // It is one of the profile: that was checked.
    const algorithm = jws.header.alg as SignatureAlgorithm
    const finish = (key: KeyObject | undefined): Verified<C> => {
      const named = profile.isForeign ? `${describeValue(kid)} ` : ''
      if (!key)
        throw new TokenError('token_untrusted', `the key ${named}of the ${label} is not one of its issuer`)
      if (!verifySignature(algorithm, key, jws.signingInput, jws.signature)) {
        throw new TokenError('token_untrusted', `the signature of the ${label} is not that of its issuer`)
      }
      const claims = checkClaims(jws.payload, profile, audience, seconds(clock), acceptEnded)
      return { claims, kid, algorithm, key }
    }
    const key = issuer.findKey(kid, algorithm)
    if (key || !issuer.refresh) return finish(key)
    return issuer.refresh().then(() => finish(issuer.findKey(kid, algorithm)))
  }

  return {
    verify(token, profile, audience) {
      const end = token.slice(-endLength)
      const known = verified.get(end)
      if (
        known?.token === token &&
        known.profile === profile &&
        known.audience === audience &&
        isValid(known)
      )
        return known.claims as never
      const remember = <C extends BaseClaims>(found: Verified<C>): C => {
        verified.set(end, { ...found, token, profile, audience })
        return found.claims
      }
      const found = check(token, profile, audience, false)
      return found instanceof Promise ? found.then(remember) : remember(found)
    },
    verifyEnded: async (token, profile, audience) => (await check(token, profile, audience, true)).claims,
  }
}
