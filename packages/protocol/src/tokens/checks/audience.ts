import { TokenError } from '../jws.ts'
import { nonEmpty } from '../profiles.ts'

/**
 * `aud` (RFC 7519 § 4.1.3): a string or a list of strings, the expected one among them.
 *
 * @throws TokenError
 */
export function checkAudience(aud: unknown, expected: string, label: string): void {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audiences.every(nonEmpty)) {
    throw new TokenError('token_malformed', `claim "aud" of the ${label} is not a string or a list of them`)
  }
  if (!audiences.includes(expected)) {
    throw new TokenError('token_untrusted', `the ${label} is not meant for ${expected}`)
  }
}
