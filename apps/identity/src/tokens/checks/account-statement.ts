import { OAuthError } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  edgeAudience,
  hasScope,
  type NodeStatement,
  TokenError,
  tokenOAuthError,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { isIssuedBefore, type TokenVerifier } from '@selvedge/service-kit/tokens'
import type { Node } from '../../registry/nodes/nodes.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { Trust } from '../trust/trust.ts'

export interface AccountStatementParts {
  readonly clock: Clock
  readonly issuer: () => string
  /** Trusts the tenants that may associate nodes. */
  readonly tenantVerifier: Pick<TokenVerifier, 'verifyEnded'>
  readonly trust: Pick<Trust, 'foreignReasonAgainst'>
  readonly revocations: Pick<Revocations, 'reasonFor'>
}

type KnownNode = Pick<Node, 'accountId' | 'accountEpoch' | 'accountAt'>

/** Seconds for which a device may be offline after it was associated with a token: an older token proves nothing. */
const maxOfflineSeconds = 90 * 86_400

/**
 * The account of a node according to its statement: it stays, the node left it, or an access token for this node proves a new one.
 *
 * @param known the node in the registry; undefined if it is new
 * @returns the account ("" if it has no account), and the token that proves it if the node joins it
 * @throws OAuthError `invalid_request` without a token, `invalid_grant` if the token does not prove the account
 */
export async function checkAccountStatement(
  parts: AccountStatementParts,
  nodeId: string,
  { account }: Pick<NodeStatement, 'account'>,
  known: KnownNode | undefined,
): Promise<{ readonly accountId: string; readonly token?: AccessClaims }> {
  const before = known?.accountId ?? ''
  if (!account) return { accountId: before }
  if (account.id === '' || account.id === before) return { accountId: account.id }
  if (account.access_token === undefined)
    throw new OAuthError('invalid_request', 'claim "node.account" of the proof has no access token')
  try {
    // The device may have been offline since: the token must have been valid when the account was associated.
    const token = await parts.tenantVerifier.verifyEnded(account.access_token, accessProfile, edgeAudience)
    checkProves(token, nodeId, account.id)
    checkFresh(token, parts, known)
    const { trust, revocations } = parts
    const revoked =
      revocations.reasonFor(ownClaimsOf(token, parts)) ?? (await trust.foreignReasonAgainst(token))
    if (revoked !== undefined)
      throw new TokenError('token_revoked', `the access token was revoked: ${revoked}`)
    return { accountId: account.id, token }
  } catch (cause) {
    const describe = ({ message }: Error) => `the account is not proved: ${message}`
    // Also while the list of revoked tokens of its issuer can't be fetched: the node continues, and states the account again.
    if (cause instanceof OAuthError) throw new OAuthError('invalid_grant', describe(cause), { cause })
    throw tokenOAuthError(cause, 'invalid_grant', describe)
  }
}

function checkProves(token: AccessClaims, nodeId: string, accountId: string): void {
  const proves =
    token.node_id === nodeId &&
    token.account_id === accountId &&
    hasScope(token.scope, 'edge:account:associate')
  if (proves) return
  throw new TokenError(
    'token_untrusted',
    'the access token is not for associating this node with this account',
  )
}

function checkFresh(token: AccessClaims, parts: AccountStatementParts, known: KnownNode | undefined): void {
  if (token.exp + maxOfflineSeconds < seconds(parts.clock))
    throw new TokenError('token_expired', 'the access token expired more than 90 days ago')
  if (known && isIssuedBefore(ownClaimsOf(token, parts), leftAt(known)))
    throw new TokenError('token_revoked', 'the access token is from before the node left its last account')
}

/** The claims of a token as this service compares them: the numbers of another issuer have no meaning here. */
function ownClaimsOf(token: AccessClaims, { issuer }: Pick<AccountStatementParts, 'issuer'>) {
  const { epoch: _, ...foreign } = token
  return token.iss === issuer() ? token : foreign
}

/** A token from before this cannot return the node to an account. */
const leftAt = ({ accountEpoch, accountAt }: KnownNode) => ({
  epoch: accountEpoch,
  notBefore: Math.floor(accountAt / 1000) + (accountAt === 0 ? 0 : 1),
})
