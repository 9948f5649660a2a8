import { TokenError } from '@selvedge/protocol/tokens'
import type { RevocableClaims } from '@selvedge/service-kit/tokens'
import type { Revocations } from '../revocation/revocations.ts'

/** Nobody has taken the token back. By `jti`, since a signature has a valid twin. @throws TokenError */
export function checkNotRevoked(revocations: Revocations, claims: RevocableClaims, label: string): void {
  const reason = revocations.reasonFor(claims)
  if (reason !== undefined) throw new TokenError('token_revoked', `the ${label} was revoked: ${reason}`)
}
