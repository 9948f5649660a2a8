import { type JsonObject, type Jws, TokenError } from '../jws.ts'
import { type BaseClaims, nonEmpty, type TokenProfile } from '../profiles.ts'

/** Header members that would let a token choose its own key or meaning (RFC 8725 §§ 3.1, 3.10). Our tokens do not use them. */
const refusedHeaders = ['crit', 'b64', 'jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256', 'zip', 'enc'] as const

/**
 * What a header may say of the signature. The algorithm is the issuer's, never the token's: it is compared, not obeyed.
 *
 * @throws TokenError
 */
export function checkAlgorithm(header: JsonObject, label: string): void {
  for (const name of refusedHeaders) {
    if (Object.hasOwn(header, name)) {
      throw new TokenError(
        'token_untrusted',
        `the ${label} has the header "${name}", which is never accepted`,
      )
    }
  }
  if (header.alg !== 'ES256') {
    throw new TokenError('token_untrusted', `the algorithm of the ${label} is not ES256`)
  }
}

/**
 * The header, before a key is looked up.
 *
 * @returns issuer and key that the token names
 * @throws TokenError
 */
export function checkHeader(
  { header, payload }: Jws,
  { label, typ }: Pick<TokenProfile<BaseClaims>, 'label' | 'typ'>,
): { iss: string; kid: string } {
  checkAlgorithm(header, label)
  if (header.typ !== typ) {
    throw new TokenError('token_untrusted', `the type of the token is not "${typ}", that of the ${label}`)
  }
  const { kid } = header
  const { iss } = payload
  if (!nonEmpty(kid)) throw new TokenError('token_untrusted', `the ${label} names no key`)
  if (!nonEmpty(iss)) throw new TokenError('token_untrusted', `the ${label} names no issuer`)
  return { iss, kid }
}
