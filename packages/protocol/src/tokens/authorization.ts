/** The token that a request shows in its Authorization header, and whether its scheme suits it. */

export interface ShownToken {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly token: string
}

const start = /^(?:(bearer)|dpop) +/i

/**
 * Reads `Bearer <token>` (RFC 6750 § 2.1) or `DPoP <token>` (RFC 9449 § 7.1); undefined if the header is neither. The token is found by
 * its end: a pattern would look at each of its characters.
 */
export function readAuthorization(header: string | null | undefined): ShownToken | undefined {
  if (!header) return undefined
  const found = start.exec(header)
  if (!found) return undefined
  const from = found[0].length
  const space = header.indexOf(' ', from)
  const token = space === -1 ? header.slice(from) : header.slice(from, space)
  const hasMore = space !== -1 && header.slice(space).trim() !== ''
  if (token === '' || hasMore) return undefined
  return { scheme: found[1] === undefined ? 'DPoP' : 'Bearer', token }
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
