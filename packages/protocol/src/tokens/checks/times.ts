import { type JsonObject, TokenError } from '../jws.ts'
import type { BaseClaims, TokenProfile } from '../profiles.ts'

/** Clock difference between two machines that is put up with, in seconds. */
export const leeway = 60

/**
 * `iat`, `exp` and `nbf` (RFC 7519 § 4.1): numbers with a plausible lifetime, in force and not expired.
 *
 * @param now Unix seconds
 * @param acceptEnded whether an expired token is accepted, for what was true when it was issued
 * @throws TokenError
 */
export function checkTimes(
  { iat, exp, nbf = 0 }: JsonObject,
  { label, maxLifetime, readerJudgesTimes }: TokenProfile<BaseClaims>,
  now: number,
  acceptEnded: boolean,
): void {
  if (!isTime(iat)) throw new TokenError('token_malformed', `claim "iat" of the ${label} is not a time`)
  if (!isTime(exp)) throw new TokenError('token_malformed', `claim "exp" of the ${label} is not a time`)
  if (!isTime(nbf)) throw new TokenError('token_malformed', `claim "nbf" of the ${label} is not a time`)
  if (exp <= iat || exp - iat > maxLifetime) {
    const life = `the ${label} claims a life of ${exp - iat} s; at most ${maxLifetime} s are believed`
    throw new TokenError('token_untrusted', life)
  }
  if (readerJudgesTimes) return
  if (exp + leeway <= now && !acceptEnded) {
    throw new TokenError('token_expired', `the ${label} ended ${toIso(exp)}; it is ${toIso(now)} now`)
  }
  const begin = Math.max(iat, nbf)
  if (begin - leeway > now) {
    throw new TokenError(
      'token_not_yet_valid',
      `the ${label} begins ${toIso(begin)}; it is ${toIso(now)} now`,
    )
  }
}

/** NumericDate (RFC 7519 § 2), from 1970 to 9999. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 253_402_300_800
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString()
