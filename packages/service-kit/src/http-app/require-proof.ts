import { OAuthError } from '@selvedge/protocol'
import {
  type BaseClaims,
  type EdgeIdClaims,
  edgeIdProfile,
  hasScope,
  readAuthorization,
  type Scope,
  type ShownToken,
  schemeProblem,
  type TokenProfile,
  tokenOAuthError,
} from '@selvedge/protocol/tokens'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DpopVerifier, SharedDpopVerifier, VerifiedProof } from '../tokens/dpop.ts'
import { nodeIdOf } from '../tokens/es256.ts'
import type { RevocableClaims } from '../tokens/revocation.ts'
import type { TokenVerifier } from '../tokens/verifier.ts'

/** Who sends a request, and how that is proved. */
export interface ProofOptions {
  readonly dpop: DpopVerifier | SharedDpopVerifier
  /** URL under which callers know this service, without a path. */
  readonly url: string
}

/**
 * Checks the DPoP proof of a request, and hands out the next nonce with the answer, good or bad (RFC 9449 § 8.2).
 *
 * @param shown.accessToken the token that the proof must go with, where there is one
 * @param shown.body what the proof must cover, where it must
 * @param shown.owner the account of the token; proofs of one account are counted together
 * @throws OAuthError
 */
export async function requireProof(
  { dpop, url }: ProofOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  { accessToken, body, owner }: { accessToken?: string; body?: string | undefined; owner?: string } = {},
): Promise<VerifiedProof> {
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
      ...(owner !== undefined && { owner }),
    }),
  )
}

/** A refused proof in OAuth's words (RFC 9449 §§ 5 and 7.1). */
export async function proofAsOAuth<T>(check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (cause) {
    throw tokenOAuthError(cause, 'invalid_token')
  }
}

/** As much of a token's claims as decides who may show it. */
type Bound = BaseClaims & RevocableClaims & { readonly cnf?: { readonly jkt: string } }

/** Why a token that is genuine is not valid any more, in words; undefined if it is. */
type ReasonAgainst<C> = (claims: C) => Promise<string | undefined> | string | undefined

/** The token of a request. @param label what is needed, such as `access token` @throws OAuthError `invalid_token` */
export function requireShown({ headers }: FastifyRequest, label: string): ShownToken {
  const shown = readAuthorization(headers.authorization)
  if (!shown) throw new OAuthError('invalid_token', `send the ${label} as "Authorization: Bearer <token>"`)
  return shown
}

/**
 * Checks that a token came as its binding demands: one that is bound to a key only as `DPoP`, with a proof of that key
 * (RFC 9449 § 7).
 *
 * @throws OAuthError
 */
export async function requireBinding(
  options: ProofOptions,
  { scheme, token }: ShownToken,
  claims: Pick<Bound, 'iss' | 'cnf' | 'account_id'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const problem = schemeProblem(scheme, claims)
  if (problem !== undefined) throw new OAuthError('invalid_token', problem)
  const { cnf, iss, account_id } = claims
  if (!cnf) return
  // An account may have many keys, each with a token.
  const owner = account_id === undefined ? {} : { owner: `${iss} ${account_id}` }
  const { jkt } = await requireProof(options, request, reply, { accessToken: token, ...owner })
  if (jkt !== cnf.jkt)
    throw new OAuthError('invalid_token', 'the proof is by another key than the token is bound to')
}

/**
 * The token of a request: verified, proved if it is bound to a key, and not revoked.
 *
 * @throws OAuthError
 */
export async function requireToken<C extends Bound>(
  options: ProofOptions & {
    readonly verifier: TokenVerifier
    readonly profile: TokenProfile<C>
    readonly audience: string
    readonly reasonAgainst: ReasonAgainst<C>
  },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<C> {
  const { verifier, profile, audience, reasonAgainst } = options
  const shown = requireShown(request, profile.label)
  const claims = await asOAuth(() => verifier.verify(shown.token, profile, audience))
  await requireBinding(options, shown, claims, request, reply)
  await refuseRevoked(claims, profile.label, reasonAgainst)
  return claims
}

/** @param use what needs the scope @throws OAuthError `insufficient_scope` */
export function requireScope({ scope }: { readonly scope: string }, needed: Scope, use: string): void {
  if (hasScope(scope, needed)) return
  const message = `${use} needs the scope ${needed}; the token has ${scope || 'none'}`
  throw new OAuthError('insufficient_scope', message)
}

async function refuseRevoked<C>(claims: C, label: string, reasonAgainst: ReasonAgainst<C>): Promise<void> {
  const reason = await reasonAgainst(claims)
  if (reason !== undefined)
    throw new OAuthError('invalid_token', `the ${label} is not valid any more: ${reason}`)
}

/**
 * The node that sends a request: its edge ID token in the Authorization header, and a proof of the key that the token is
 * bound to (RFC 9449 § 7), which is the key of that very node. The token alone is worth nothing.
 *
 * @throws OAuthError
 */
export async function requireNode(
  options: ProofOptions & {
    readonly verifier: TokenVerifier
    readonly audience: string
    readonly reasonAgainst: ReasonAgainst<EdgeIdClaims>
  },
  request: FastifyRequest,
  reply: FastifyReply,
  body?: string,
): Promise<EdgeIdClaims> {
  const { scheme, token } = readAuthorization(request.headers.authorization) ?? {}
  if (scheme !== 'DPoP' || token === undefined) {
    throw new OAuthError('invalid_token', 'send the edge ID token as "Authorization: DPoP <token>"')
  }
  const proof = await requireProof(options, request, reply, { accessToken: token, body })
  const claims = await asOAuth(() => options.verifier.verify(token, edgeIdProfile, options.audience))
  if (claims.cnf.jkt !== proof.jkt)
    throw new OAuthError('invalid_token', 'the edge ID token is bound to another key')
  // The ID of a node is the hash of its key: no issuer can give it to another one.
  if (claims.node_id !== nodeIdOf(proof.jwk))
    throw new OAuthError('invalid_token', 'the edge ID token is of another node than the key')
  await refuseRevoked(claims, edgeIdProfile.label, options.reasonAgainst)
  return claims
}

/** A refused token of a request as `invalid_token` (RFC 6750 § 3.1). */
async function asOAuth<T>(check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (cause) {
    throw tokenOAuthError(cause, 'invalid_token')
  }
}
