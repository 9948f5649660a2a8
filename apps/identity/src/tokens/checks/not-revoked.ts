import { type EdgeIdClaims, TokenError } from '@selvedge/protocol/tokens'
import type { RevocableClaims } from '@selvedge/service-kit/tokens'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { Trust } from '../trust/trust.ts'

/**
 * Checks that the token is not revoked, by its `jti`: each signature has a second valid form.
 *
 * @param clientId client of the token, if its claims do not contain it
 * @throws TokenError
 */
export function checkNotRevoked(
  revocations: Pick<Revocations, 'reasonFor'>,
  claims: RevocableClaims,
  label: string,
  clientId?: string,
): void {
  const reason = revocations.reasonFor(claims, clientId)
  if (reason !== undefined) throw new TokenError('token_revoked', `the ${label} was revoked: ${reason}`)
}

/**
 * The same of an edge ID token. Whether its node is blocked is another check, and the token is short: what was revoked for the
 * node are access tokens.
 *
 * @throws TokenError
 */
export function checkEdgeNotRevoked(
  revocations: Pick<Revocations, 'edgeReasonFor'>,
  claims: EdgeIdClaims,
): void {
  const reason = revocations.edgeReasonFor(claims)
  if (reason !== undefined) throw new TokenError('token_revoked', `the edge ID token was revoked: ${reason}`)
}

/**
 * Checks that another issuer has not revoked the token, by the list that it publishes. For tokens of this service it does nothing.
 *
 * @throws TokenError, or OAuthError `temporarily_unavailable` while the list is too old to tell
 */
export async function checkForeignNotRevoked(
  trust: Pick<Trust, 'foreignReasonAgainst'>,
  claims: Parameters<Trust['foreignReasonAgainst']>[0],
  label: string,
): Promise<void> {
  const reason = await trust.foreignReasonAgainst(claims)
  if (reason !== undefined) throw new TokenError('token_revoked', `the ${label} was revoked: ${reason}`)
}
