import { OAuthError } from '@selvedge/protocol'
import {
  DpopError,
  type EdgeIdClaims,
  edgeIdProfile,
  readAuthorization,
  TokenError,
} from '@selvedge/protocol/tokens'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DpopVerifier, VerifiedProof } from '../tokens/dpop.ts'
import type { TokenVerifier } from '../tokens/verifier.ts'

/** Who sends a request, and how that is proved. */
export interface ProofOptions {
  readonly dpop: DpopVerifier
  /** URL under which callers know this service, without a path. */
  readonly url: string
}

/**
 * Checks the DPoP proof of a request, and hands out the next nonce with the answer, good or bad (RFC 9449 § 8.2).
 *
 * @param accessToken the token that the proof must go with, where there is one
 * @param body what the proof must cover, where it must
 * @throws OAuthError
 */
export function requireProof(
  { dpop, url }: ProofOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  accessToken?: string,
  body?: string,
): VerifiedProof {
  reply.header('DPoP-Nonce', dpop.nonce())
  const { dpop: proof } = request.headers
  if (typeof proof !== 'string') {
    throw new OAuthError(
      'invalid_dpop_proof',
      'the request has no DPoP header; sign a proof with the key of the node',
    )
  }
  return proofAsOAuth(() =>
    dpop.verify(proof, {
      htm: request.method,
      htu: url + request.url.split('?', 1)[0],
      ...(accessToken !== undefined && { accessToken }),
      ...(body !== undefined && { body }),
    }),
  )
}

/** A refused proof in OAuth's words (RFC 9449 §§ 5 and 7.1). */
export function proofAsOAuth<T>(check: () => T): T {
  try {
    return check()
  } catch (cause) {
    if (!(cause instanceof DpopError)) throw cause
    const { code, message } = cause
    if (code === 'busy')
      throw new OAuthError('temporarily_unavailable', message, { cause, status: 503, retryAfter: 10 })
    throw new OAuthError(code, message, { cause })
  }
}

/**
 * The node that sends a request: its edge ID token in the Authorization header, and a proof of the key that the token is
 * bound to (RFC 9449 § 7). The token alone is worth nothing.
 *
 * @throws OAuthError
 */
export async function requireNode(
  options: ProofOptions & { readonly verifier: TokenVerifier; readonly audience: string },
  request: FastifyRequest,
  reply: FastifyReply,
  body?: string,
): Promise<EdgeIdClaims> {
  const { scheme, token } = readAuthorization(request.headers.authorization) ?? {}
  if (scheme !== 'DPoP' || token === undefined) {
    throw new OAuthError('invalid_token', 'send the edge ID token as "Authorization: DPoP <token>"')
  }
  const proof = requireProof(options, request, reply, token, body)
  const claims = await asOAuth(() => options.verifier.verify(token, edgeIdProfile, options.audience))
  if (claims.cnf.jkt !== proof.jkt)
    throw new OAuthError('invalid_token', 'the edge ID token is bound to another key')
  return claims
}

/** A refused token of a request as `invalid_token` (RFC 6750 § 3.1). */
export async function asOAuth<T>(check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (cause) {
    if (cause instanceof TokenError) throw new OAuthError('invalid_token', cause.message, { cause })
    throw cause
  }
}
