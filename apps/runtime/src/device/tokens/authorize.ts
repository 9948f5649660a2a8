import { RpcError, type TokenAccess } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  edgeAudience,
  hasScope,
  leeway,
  schemeProblem,
  tokenRpcError,
} from '@selvedge/protocol/tokens'
import { type Clock, isoTime, seconds } from '@selvedge/service-kit/clock'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { StateStore } from '../state.ts'
import type { CheckProof, ProvenRequest } from './proof.ts'
import type { Revocations } from './revocations.ts'

/** What a token must be. `user`: of the associated account, or of a person with whom that account shares a service; for no method. */
export type NeededToken = Omit<TokenAccess, 'token'> & { readonly token: TokenAccess['token'] | 'user' }

/**
 * Checks an edge access token for a method: it is valid, issued for this node, not revoked, and
 * has the scope and the account that the method needs.
 *
 * @param use what needs the token, such as `updateGps`; a refusal names it
 * @throws RpcError
 */
export type Authorize = (
  token: string,
  access: NeededToken,
  request: ProvenRequest,
  use: string,
) => Promise<AccessClaims>

export interface AuthorizeParts {
  readonly nodeId: string
  readonly clock: Clock
  readonly state: StateStore
  readonly verifier: TokenVerifier
  readonly revocations: Revocations
  readonly checkProof: CheckProof
}

/**
 * Checks what may change after a token was verified: that it has not expired, is not revoked, and is of the associated account where
 * the access asks for that. It costs no cryptography.
 *
 * @throws RpcError
 */
export type ExpectStillValid = (claims: AccessClaims, access: NeededToken) => void

/**
 * Checks what a token has from a group or a share, by the list of revoked tokens, which has their IDs, too.
 *
 * @param ids of shares and memberships
 * @returns those that are not revoked
 */
export type KeepUnrevoked = (claims: AccessClaims, ids: readonly string[]) => readonly string[]

export function createAuthorize(parts: AuthorizeParts): {
  authorize: Authorize
  expectStillValid: ExpectStillValid
  keepUnrevoked: KeepUnrevoked
} {
  const { nodeId, state, verifier, revocations, checkProof, clock } = parts
  const verify = createVerify(verifier)

  function expectNotRevoked(claims: AccessClaims): void {
    if (claims.iat <= (state.value.revokedUntil[claims.account_id] ?? -1))
      throw new RpcError(
        'token_revoked',
        'the token was issued before its account was removed from this runtime',
      )
    const revoked = revocations.reasonFor(claims)
    if (revoked !== undefined) throw new RpcError('token_revoked', `the token was revoked: ${revoked}`)
  }

  function expectAssociated(claims: AccessClaims, access: NeededToken): void {
    const { account_id } = claims
    const { accountId } = state.value
    if (access.token === 'node') return
    if (accountId === '')
      throw new RpcError('not_associated', 'this runtime is not associated with an account')
    const isShared = access.token === 'user' && accountId === claims.shares?.account_id
    // What revokes the tokens of the account that shares ends its shares, too.
    if (isShared) expectNotRevoked(asOfSharer(claims, accountId))
    if (account_id !== accountId && !isShared)
      throw new RpcError(
        'wrong_account',
        `the token is of account ${account_id}; this runtime is associated with ${accountId}`,
      )
  }

  const expectStillValid: ExpectStillValid = (claims, access) => {
    expectUnexpired(claims, clock)
    expectNotRevoked(claims)
    expectAssociated(claims, access)
  }

  const authorize: Authorize = async (token, access, request, use) => {
    let claims: AccessClaims
    try {
      claims = await verify(token, request)
    } catch (cause) {
      throw tokenRpcError(cause, use)
    }
    if (claims.node_id !== nodeId) {
      throw new RpcError('wrong_node', `the token is for node ${claims.node_id}; this is node ${nodeId}`)
    }
    expectNotRevoked(claims)
    const problem = schemeProblem(request.shown?.scheme, claims)
    if (problem !== undefined) throw new RpcError('invalid_dpop_proof', problem)
    if (claims.cnf) checkProof(token, claims.cnf.jkt, request)
    if (access.scope !== undefined && !hasScope(claims.scope, access.scope)) {
      throw new RpcError(
        'insufficient_scope',
        `the method needs the scope ${access.scope}; the token has ${claims.scope}`,
      )
    }
    expectAssociated(claims, access)
    return claims
  }
  const keepUnrevoked: KeepUnrevoked = (claims, ids) =>
    ids.filter((id) => revocations.reasonFor(asOf(claims, id)) === undefined)
  return { authorize, expectStillValid, keepUnrevoked }
}

/** Claims that were made of others: the hashes of claims are cached with the object. */
const derived = new WeakMap<AccessClaims, Map<string, AccessClaims>>()

function derive(claims: AccessClaims, key: string, make: () => AccessClaims): AccessClaims {
  const of = derived.get(claims) ?? new Map<string, AccessClaims>()
  derived.set(claims, of)
  const found = of.get(key) ?? make()
  of.set(key, found)
  return found
}

/** A token as if the account that shares with its person had got it. */
const asOfSharer = (claims: AccessClaims, accountId: string): AccessClaims =>
  derive(claims, 'sharer', () => ({ ...claims, account_id: accountId }))

/** A token as if it had the ID of a share or of a membership. */
const asOf = (claims: AccessClaims, id: string): AccessClaims =>
  derive(claims, id, () => ({ ...claims, jti: id }))

/** @throws RpcError `token_expired` */
function expectUnexpired({ exp }: { readonly exp: number }, clock: Clock): void {
  if (exp + leeway > seconds(clock)) return
  throw new RpcError('token_expired', `the token expired at ${isoTime(exp * 1000)}`)
}

/** Different tokens of one request that may be refused: each costs its caller nothing, and the runtime a signature. */
const maxRefused = 8

/**
 * Verifies tokens. What was refused, or waits for the keys of its issuer, is cached for its request: a batch repeats its
 * token, and may not make the runtime verify a hundred different ones.
 */
function createVerify(verifier: TokenVerifier) {
  const outcomes = new WeakMap<object, Map<string, Promise<AccessClaims>>>()

  function remember(request: object, token: string, outcome: Promise<AccessClaims>): Promise<AccessClaims> {
    const of = outcomes.get(request) ?? new Map<string, Promise<AccessClaims>>()
    // A valid token is verified again when it is asked for again: it may expire during its request.
    const settled = outcome.then((claims) => {
      of.delete(token)
      return claims
    })
    outcomes.set(request, of.set(token, settled))
    return settled
  }

  return (token: string, request: object): AccessClaims | Promise<AccessClaims> => {
    const earlier = outcomes.get(request)
    const known = earlier?.get(token)
    if (known) return known
    if (earlier && earlier.size >= maxRefused)
      throw new RpcError('limit_exceeded', `${maxRefused} tokens of this request were refused already`, {
        hint: 'Send the remaining calls in another request.',
      })
    try {
      const verified = verifier.verify(token, accessProfile, edgeAudience)
      return verified instanceof Promise ? remember(request, token, verified) : verified
    } catch (cause) {
      return remember(request, token, Promise.reject(cause))
    }
  }
}
