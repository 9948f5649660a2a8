import { type DeveloperIdClaims, TokenError } from '@selvedge/protocol/tokens'
import type { DeveloperTokens } from '../registry/developer-tokens.ts'

/** The developer has not taken the token back. By `jti`, since a signature has a valid twin. @throws TokenError */
export function checkDeveloperTokenNotRevoked(tokens: DeveloperTokens, { jti }: DeveloperIdClaims): void {
  if (tokens.isRevoked(jti)) throw new TokenError('token_revoked', 'the developer ID token was revoked')
}
