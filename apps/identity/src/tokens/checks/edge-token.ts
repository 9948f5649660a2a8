import { type EdgeIdClaims, edgeIdProfile } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'

/** Checks that the edge ID token is of a cloud that this tenant trusts, for this tenant, and valid now. @throws TokenError */
export function checkEdgeToken(
  verifier: TokenVerifier,
  token: string,
  issuer: string,
): EdgeIdClaims | Promise<EdgeIdClaims> {
  return verifier.verify(token, edgeIdProfile, issuer)
}
