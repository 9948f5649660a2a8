import { type DeveloperIdClaims, developerIdProfile } from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'

/** Checks that the developer ID token is of this tenant, for this client, and valid now. @throws TokenError */
export function checkDeveloperToken(
  verifier: TokenVerifier,
  token: string,
  clientId: string,
): DeveloperIdClaims | Promise<DeveloperIdClaims> {
  return verifier.verify(token, developerIdProfile, clientId)
}
