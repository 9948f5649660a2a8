import { type JsonObject, TokenError } from '../jws.ts'
import { type BaseClaims, nonEmpty, type TokenProfile } from '../profiles.ts'
import { checkAudience } from './audience.ts'
import { checkTimes } from './times.ts'

/**
 * The claims, after the signature was found good.
 *
 * @param audience the token must name it among its audiences; of a foreign token, the caller compares it
 * @param now Unix seconds
 * @throws TokenError
 */
export function checkClaims<Claims extends BaseClaims>(
  payload: JsonObject,
  profile: TokenProfile<Claims>,
  audience: string,
  now: number,
  acceptEnded = false,
): Claims {
  const { label } = profile
  if (!profile.isForeign && !nonEmpty(payload.jti)) {
    throw new TokenError('token_malformed', `claim "jti" of the ${label} is not a non-empty string`)
  }
  checkTimes(payload, profile, now, acceptEnded)
  if (!profile.isForeign) checkAudience(payload, audience, label)
  const problem = profile.check(payload)
  if (problem) throw new TokenError('token_malformed', `${problem} in the ${label}`)
  return payload as unknown as Claims
}
