import { type JsonObject, TokenError } from '../jws.ts'
import { nonEmpty } from '../profiles.ts'

/**
 * `aud` (RFC 7519 § 4.1.3): a string or a list of strings, the expected one among them. `azp` names who may use the
 * token (OpenID Connect Core § 3.1.3.7): the client or node that it was issued to. A token for others, too, must have it.
 *
 * @throws TokenError
 */
export function checkAudience(
  { aud, azp, client_id, node_id }: JsonObject,
  expected: string,
  label: string,
): void {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.every(nonEmpty)) {
    throw new TokenError('token_malformed', `claim "aud" of the ${label} is not a string or a list of them`)
  }
  if (!audiences.includes(expected)) {
    throw new TokenError('token_untrusted', `the ${label} is not meant for ${expected}`)
  }
  const isForOthers = audiences.some((each) => each !== expected)
  if (azp === undefined && isForOthers)
    throw new TokenError(
      'token_untrusted',
      `the ${label} has several audiences, and no "azp" that says whose it is`,
    )
  // The ID token of a person names its client as the audience.
  if (azp !== undefined && azp !== (client_id ?? node_id ?? expected))
    throw new TokenError('token_untrusted', `claim "azp" of the ${label} names another client or node`)
}
