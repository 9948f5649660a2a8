import { type Access, RpcError } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  edgeAudience,
  hasScope,
  TokenError,
} from '@selvedge/protocol/tokens'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { StateStore } from '../state.ts'
import type { CheckProof, ProvenRequest } from './proof.ts'
import type { Revocations } from './revocations.ts'

/**
 * Checks an edge access token for a method: good in itself, of this node, not taken back, with the scope and of the account
 * that the method asks for.
 *
 * @throws RpcError
 */
export type Authorize = (token: string, access: Access, request: ProvenRequest) => Promise<AccessClaims>

export interface AuthorizeParts {
  readonly nodeId: string
  readonly state: StateStore
  readonly verifier: TokenVerifier
  readonly revocations: Revocations
  readonly checkProof: CheckProof
}

export function createAuthorize(parts: AuthorizeParts): Authorize {
  const { nodeId, state, verifier, revocations, checkProof } = parts
  return async (token, access, request) => {
    const claims = await verify(verifier, token)
    const { accountId, revokedUntil } = state.value
    if (claims.node_id !== nodeId) {
      throw new RpcError('wrong_node', `the token is for node ${claims.node_id}; this is node ${nodeId}`)
    }
    if (claims.iat <= (revokedUntil[claims.account_id] ?? -1)) {
      throw new RpcError(
        'token_revoked',
        'the token was issued before its account was removed from this runtime',
      )
    }
    const revoked = revocations.reasonFor(claims)
    if (revoked !== undefined)
      throw new RpcError('token_revoked', `the token is not good any more: ${revoked}`)
    if (claims.cnf) checkProof(token, claims.cnf.jkt, request)
    if (access.scope !== undefined && !hasScope(claims.scope, access.scope)) {
      throw new RpcError(
        'insufficient_scope',
        `the method needs the scope ${access.scope}; the token has ${claims.scope}`,
      )
    }
    if (access.token === 'associated') {
      if (accountId === '') throw new RpcError('not_associated', 'this runtime is associated with no account')
      if (claims.account_id !== accountId) {
        throw new RpcError(
          'wrong_account',
          `the token is of account ${claims.account_id}; associated is ${accountId}`,
        )
      }
    }
    return claims
  }
}

async function verify(verifier: TokenVerifier, token: string): Promise<AccessClaims> {
  try {
    return await verifier.verify(token, accessProfile, edgeAudience)
  } catch (cause) {
    if (cause instanceof TokenError) throw new RpcError(cause.reason, cause.message, { cause })
    throw cause
  }
}
