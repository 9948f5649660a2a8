import { type DeveloperIdClaims, developerIdProfile } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'

/** The developer ID token is one of this tenant, for this very client, and good now. @throws TokenError */
export function checkDeveloperToken(
  verifier: TokenVerifier,
  token: string,
  clientId: string,
): DeveloperIdClaims | Promise<DeveloperIdClaims> {
  return verifier.verify(token, developerIdProfile, clientId)
}
