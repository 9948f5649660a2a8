import { type EdgeIdClaims, edgeIdProfile } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'

/** The edge ID token is one of a cloud that this tenant trusts, meant for this tenant, and good now. @throws TokenError */
export function checkEdgeToken(
  verifier: TokenVerifier,
  token: string,
  issuer: string,
): EdgeIdClaims | Promise<EdgeIdClaims> {
  return verifier.verify(token, edgeIdProfile, issuer)
}
