/** The token that a request shows in its Authorization header, and whether its scheme suits it. */

export interface ShownToken {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
}

/** Reads `Bearer <token>` (RFC 6750 § 2.1) or `DPoP <token>` (RFC 9449 § 7.1); undefined if the header is neither. */
export function readAuthorization(header: string | null | undefined): ShownToken | undefined {
  const [, scheme = '', token] = /^(bearer|dpop) +([^ ]+) *$/i.exec(header ?? '') ?? []
  if (token === undefined) return undefined
  return { scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer', token }
}

/**
 * What is wrong with the scheme of a token; undefined if nothing is. A key-bound token under `Bearer` is refused whatever
 * proof comes with it (RFC 9449 § 7.2), and a token that is bound to no key proves nothing under `DPoP` (§ 7.1).
 *
 * @param scheme undefined if the token did not come in the Authorization header
 */
export function schemeProblem(
  scheme: ShownToken['scheme'] | undefined,
  { cnf }: { readonly cnf?: object | undefined },
): string | undefined {
  if (cnf && scheme === 'Bearer')
    return 'the token is bound to a key: send it as "Authorization: DPoP <token>", with a proof of that key in the DPoP header'
  if (!cnf && scheme === 'DPoP')
    return 'the token is bound to no key: send it as "Authorization: Bearer <token>"'
  return undefined
}
