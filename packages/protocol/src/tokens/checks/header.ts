import { type JsonObject, type Jws, TokenError } from '../jws.ts'
import { type BaseClaims, nonEmpty, type SignatureAlgorithm, type TokenProfile } from '../profiles.ts'

/** Header members that would let a token choose its own key or meaning (RFC 8725 §§ 3.1, 3.10). Our tokens do not use them. */
const refusedHeaders = ['crit', 'b64', 'jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256', 'zip', 'enc'] as const

/** Names of certificates that chose no key here: other issuers send them (GitHub, Microsoft Entra), and they are not read. */
const ignoredOfForeign: readonly string[] = ['x5t', 'x5t#S256']

const ownAlgorithms: readonly SignatureAlgorithm[] = ['ES256']

/**
 * What a header may say of the signature. The algorithm is the issuer's, never the token's: it is compared, not obeyed.
 *
 * @param profile absent: a token of this project, signed with ES256
 * @throws TokenError
 */
export function checkAlgorithm(
  header: JsonObject,
  label: string,
  { algorithms = ownAlgorithms, isForeign }: Pick<TokenProfile<BaseClaims>, 'algorithms' | 'isForeign'> = {},
): void {
  for (const name of refusedHeaders) {
    if (isForeign && ignoredOfForeign.includes(name)) continue
    if (Object.hasOwn(header, name)) {
      throw new TokenError(
        'token_untrusted',
        `the ${label} has the header "${name}", which is never accepted`,
      )
    }
  }
  if (!algorithms.includes(header.alg as SignatureAlgorithm)) {
    const was = isForeign ? `${describeValue(header.alg)}, ` : ''
    throw new TokenError(
      'token_untrusted',
      `the algorithm of the ${label} is ${was}not ${algorithms.join(' or ')}`,
    )
  }
}

/** A value of a foreign token for a message: JSON in ASCII, at most 200 characters (RFC 6749 § 5.2). */
export const describeValue = (value: unknown): string =>
  (JSON.stringify(value) ?? 'missing')
    .slice(0, 200)
    .replaceAll(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * The header, before a key is looked up.
 *
 * @returns issuer and key that the token names
 * @throws TokenError
 */
export function checkHeader(
  { header, payload }: Jws,
  profile: Pick<TokenProfile<BaseClaims>, 'label' | 'typ' | 'algorithms' | 'isForeign'>,
): { iss: string; kid: string } {
  const { label, typ, isForeign } = profile
  checkAlgorithm(header, label, profile)
  // Many issuers write no type, which is a media type: its case does not count (RFC 7519 § 5.1).
  const isTyped =
    isForeign && typeof header.typ === 'string' ? header.typ.toUpperCase() === typ : header.typ === typ
  if (!isTyped && !(isForeign && header.typ === undefined)) {
    throw new TokenError('token_untrusted', `the type of the token is not "${typ}", that of the ${label}`)
  }
  const { kid } = header
  const { iss } = payload
  if (!nonEmpty(kid)) throw new TokenError('token_untrusted', `the ${label} names no key`)
  if (!nonEmpty(iss)) throw new TokenError('token_untrusted', `the ${label} names no issuer`)
  return { iss, kid }
}
