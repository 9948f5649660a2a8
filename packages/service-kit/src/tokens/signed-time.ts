import { openToken, type TimeClaims, TokenError, timeAudience, timeProfile } from '@selvedge/protocol/tokens'
import { verifyEs256 } from './es256.ts'
import type { Issuer } from './verifier.ts'

/**
 * Checks the signed answer to a question for the time. Its own times are not compared with any clock: the nonce shows that it
 * is fresh.
 *
 * @param asked `nonce` of the question, and the node that asked
 * @returns Unix milliseconds
 * @throws TokenError
 */
export async function verifySignedTime(
  token: string,
  issuer: Issuer,
  asked: { readonly nonce: string; readonly nodeId: string },
): Promise<number> {
  const { jws, iss, kid } = openToken(token, timeProfile)
  if (iss !== issuer.issuer) throw new TokenError('token_untrusted', 'the signed time is of another issuer')
  if (!issuer.findKey(kid)) await issuer.refresh?.()
  const key = issuer.findKey(kid)
  if (!key || !verifyEs256(key, jws.signingInput, jws.signature))
    throw new TokenError('token_untrusted', 'the signature of the signed time is not that of its issuer')
  const wrong = timeProfile.check(jws.payload)
  if (wrong !== undefined) throw new TokenError('token_malformed', `signed time: ${wrong}`)
  const { nonce, sub, aud, time } = jws.payload as unknown as TimeClaims
  if (aud !== timeAudience || sub !== asked.nodeId || nonce !== asked.nonce)
    throw new TokenError('token_untrusted', 'the signed time is the answer to another question')
  return time
}
