/** Refused tokens and proofs as errors of the wire: the only place that translates one into the other. */
import { OAuthError, type OAuthErrorCode } from '../errors/oauth.ts'
import { RpcError } from '../errors/rpc-error.ts'
import { DpopError } from './checks/proof.ts'
import { TokenError } from './jws.ts'

/**
 * @param use what the token is for, such as `updateGps`; it is named if the token is of another kind
 * @returns an RpcError for a refused token or proof; anything else unchanged, to be thrown again
 */
export function tokenRpcError(cause: unknown, use?: string): unknown {
  if (cause instanceof DpopError) return new RpcError(cause.code, cause.message, { cause })
  if (!(cause instanceof TokenError)) return cause
  const message = use === undefined ? cause.message : cause.messageFor(use)
  return new RpcError(cause.reason, message, { cause })
}

/**
 * @param code of OAuth for a refused token; a refused proof has its own
 * @param describe gives the text for a refused token
 * @returns an OAuthError for a refused token or proof (RFC 9449 §§ 5 and 7.1); anything else unchanged, to be thrown again
 */
export function tokenOAuthError(
  cause: unknown,
  code: OAuthErrorCode,
  describe: (refused: TokenError) => string = ({ message }) => message,
): unknown {
  if (cause instanceof TokenError) return new OAuthError(code, describe(cause), { cause })
  if (!(cause instanceof DpopError)) return cause
  if (cause.code !== 'busy') return new OAuthError(cause.code, cause.message, { cause })
  return new OAuthError('temporarily_unavailable', cause.message, { cause, status: 503, retryAfter: 10 })
}
