import { createPublicKey, generateKeyPair, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type EdgeTokenResponse, identityPaths, OAuthError } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  discoveryAudience,
  type EdgeIdClaims,
  edgeAudience,
  edgeIdProfile,
  hasScope,
  type NodeStatement,
  publicJwk,
  type TimeClaims,
  TokenError,
  timeAudience,
  timeProfile,
  tokenOAuthError,
} from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { addressOf } from '@selvedge/service-kit/http'
import { requireProof } from '@selvedge/service-kit/http-app'
import {
  agreeHmacSecret,
  isIssuedBefore,
  nodeIdOf,
  type SharedDpopVerifier,
  type TokenVerifier,
  type VerifiedProof,
} from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import type { Limits } from '../grants/limits.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { EnrolmentCodes } from '../registry/enrolment-codes.ts'
import type { Node, Nodes } from '../registry/nodes.ts'
import type { People } from '../registry/people.ts'
import type { Revocations } from '../revocation/revocations.ts'
import type { Trust } from '../trust/trust.ts'
import { createDeviceAudit } from './device-audit.ts'

/** Seconds for which a device may be offline after it was associated with a token: later the token proves nothing. */
const longestOffline = 90 * 86_400
/** Milliseconds by which "last seen" may be behind: not every token is worth a write. */
const lastSeenStep = 60_000

export interface EdgeTokenParts {
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly issuer: () => string
  /** Number of the newest change that is known. */
  readonly epoch: () => number
  /** Issuers of the tenants that tokens are for. */
  readonly audiences: () => readonly string[]
  /** Seconds. */
  readonly lifetime: number
  readonly enrolment: 'open' | 'code'
  readonly codes: EnrolmentCodes
  readonly nodes: Nodes
  readonly dpop: SharedDpopVerifier
  /** Believes the tenants that may associate nodes. */
  readonly tenantVerifier: TokenVerifier
  readonly trust: Pick<Trust, 'foreignReasonAgainst'>
  readonly revocations: Revocations
  readonly limits: Limits
  readonly audit: Audit
  readonly people: People
  /** Addresses of proxies that are believed. */
  readonly trustedProxies: readonly string[]
  /** Nodes of one account. */
  readonly maxNodes: number
}

/**
 * `POST /edge/token`: a node proves its key and gets an edge ID token. The first request enrols the node; each one agrees the
 * HMAC secret where it is not agreed yet, and brings the registry up to date on name and account. Repeating it does no harm.
 */
export function addEdgeTokenEndpoint(app: FastifyInstance, parts: EdgeTokenParts): void {
  const { clock, keys, issuer, nodes, dpop, lifetime } = parts
  const recordsOf = createDeviceAudit(parts.audit, parts.people)

  app.post(identityPaths.edgeToken, async (request, reply): Promise<EdgeTokenResponse> => {
    const proof = await requireProof({ dpop, url: issuer() }, request, reply)
    if (!proof.node) throw new OAuthError('invalid_dpop_proof', 'the proof has no claim "node"')
    const audience = audienceOf(proof.node)
    const nodeId = nodeIdOf(proof.jwk)
    const epoch = parts.epoch()
    parts.limits.takeNode(nodeId)
    const known = await nodes.find(nodeId)
    if (known && known.blockedAt !== null) throw blocked()
    if (!known) await admit(nodeId, proof.node, addressOf(request.raw, parts.trustedProxies))
    const node = await bringUpToDate(nodeId, proof.node, known, addressOf(request.raw, parts.trustedProxies))
    if (node.blockedAt !== null) throw blocked()
    const now = seconds(clock)
    const claims: EdgeIdClaims = {
      iss: issuer(),
      sub: node.accountId,
      aud: audience,
      azp: nodeId,
      node_id: nodeId,
      node_name: node.name,
      iat: now,
      exp: now + lifetime,
      jti: randomUUID(),
      epoch,
      cnf: { jkt: proof.jkt },
      // For the discovery service, which gives the nodes of an account the key that they know each other by.
      ...(audience === discoveryAudience && {
        account_epoch: await nodes.accountKeyEpoch(node.accountId),
      }),
    }
    return {
      id_token: keys.sign(edgeIdProfile.typ, claims),
      expires_in: lifetime,
      account_id: node.accountId,
      ...timeFor(nodeId, proof.node),
      hmac_key: JSON.parse(node.hmac.cloudKey),
      ...(node.removedAccount !== '' && { removed_account: node.removedAccount }),
    }
  })

  /** The time, and the same signed for the nonce of the node, which may have no other source that it can believe. */
  function timeFor(
    nodeId: string,
    { time_nonce: nonce }: NodeStatement,
  ): Pick<EdgeTokenResponse, 'time' | 'time_token'> {
    const time = clock.now()
    if (nonce === undefined) return { time }
    const iat = Math.floor(time / 1000)
    const claims: TimeClaims = {
      iss: issuer(),
      sub: nodeId,
      aud: timeAudience,
      iat,
      exp: iat + timeProfile.maxLifetime,
      jti: randomUUID(),
      nonce,
      time,
    }
    return { time, time_token: keys.sign(timeProfile.typ, claims) }
  }

  function audienceOf({ audience }: NodeStatement): string | string[] {
    if (audience === undefined) return [...parts.audiences()]
    if (audience === discoveryAudience) return audience
    throw new OAuthError(
      'invalid_target',
      'the audience of the node is neither absent nor the discovery service',
    )
  }

  async function admit(
    nodeId: string,
    { enrolment_code: code }: NodeStatement,
    address: string,
  ): Promise<void> {
    if (parts.enrolment === 'open') return parts.limits.takeEnrolment(address)
    if (code !== undefined && (await parts.codes.redeem(code, nodeId))) return
    throw new OAuthError(
      'access_denied',
      code === undefined
        ? 'this node is new and enrolment needs a code; create one with "selvedge admin enrolment create" and set identity.enrolmentCode'
        : 'the enrolment code is unknown, used or expired',
    )
  }

  async function bringUpToDate(
    nodeId: string,
    stated: NodeStatement,
    known: Node | undefined,
    address: string,
  ): Promise<Node> {
    const now = clock.now()
    const nodeKey = JSON.stringify(stated.hmac_key)
    const { accountId, token } = await accountOf(nodeId, stated, known)
    if (accountId !== '' && accountId !== known?.accountId) await expectRoom(accountId)
    const version = stated.version ?? known?.version ?? ''
    const services = stated.services ?? known?.services ?? []
    // The removal by the owner is complete when the node confirms it, or belongs to an account again.
    const removedAccount = stated.account ? '' : (known?.removedAccount ?? '')
    const same =
      known &&
      known.name === stated.name &&
      known.accountId === accountId &&
      known.hmac.nodeKey === nodeKey &&
      known.version === version &&
      known.removedAccount === removedAccount &&
      JSON.stringify(known.services) === JSON.stringify(services)
    if (same && Math.abs(now - known.lastSeenAt) < lastSeenStep) return known
    const hmac = known?.hmac.nodeKey === nodeKey ? known.hmac : await agree(nodeId, stated, nodeKey)
    const node = {
      nodeId,
      name: stated.name,
      accountId,
      hmac,
      enrolledAt: known?.enrolledAt ?? now,
      lastSeenAt: now,
      blockedAt: null,
      version,
      services,
      removedAccount,
      accountEpoch: known?.accountEpoch ?? 0,
      accountAt: known?.accountAt ?? 0,
    }
    // The answer says what the registry has, not what was stated: the owner may have changed it meanwhile.
    return nodes.save(node, {
      isNews: !same,
      records: same ? [] : await recordsOf({ before: known, after: node, token, address }),
      ...(stated.account && { accountBefore: known?.accountId ?? '' }),
    })
  }

  async function expectRoom(accountId: string): Promise<void> {
    const { maxNodes } = parts
    if ((await nodes.countOf(accountId)) < maxNodes) return
    const hint = 'remove nodes that are gone, or raise limits.nodes of the identity service'
    throw new OAuthError('invalid_grant', `the account has ${maxNodes} nodes already; ${hint}`)
  }

  /** The account after what the node states: kept, removed by the node itself, or proved by an access token for this node. */
  async function accountOf(
    nodeId: string,
    { account }: NodeStatement,
    known: Node | undefined,
  ): Promise<{ accountId: string; token?: AccessClaims }> {
    const before = known?.accountId ?? ''
    if (!account) return { accountId: before }
    if (account.id === '' || account.id === before) return { accountId: account.id }
    if (account.access_token === undefined)
      throw new OAuthError('invalid_request', 'claim "node.account" of the proof has no access token')
    try {
      // The device may have been offline since: what counts is that the token was good when the account was associated.
      const token = await parts.tenantVerifier.verifyEnded(account.access_token, accessProfile, edgeAudience)
      const proves =
        token.node_id === nodeId &&
        token.account_id === account.id &&
        hasScope(token.scope, 'edge:account:associate')
      if (!proves)
        throw new TokenError(
          'token_untrusted',
          'the access token is not for associating this node with this account',
        )
      // Numbers of another issuer mean nothing here.
      const { epoch: _, ...foreign } = token
      const claims = token.iss === issuer() ? token : foreign
      if (token.exp + longestOffline < seconds(clock))
        throw new TokenError('token_expired', 'the access token expired more than 90 days ago')
      if (known && isIssuedBefore(claims, leftAt(known)))
        throw new TokenError(
          'token_revoked',
          'the access token is from before the node left its last account',
        )
      const revoked = parts.revocations.reasonFor(claims) ?? (await parts.trust.foreignReasonAgainst(token))
      if (revoked !== undefined)
        throw new TokenError('token_revoked', `the access token was revoked: ${revoked}`)
      return { accountId: account.id, token }
    } catch (cause) {
      const describe = ({ message }: Error) => `the account is not proved: ${message}`
      // Also while the list of revoked tokens of its issuer cannot be fetched: the node works on, and reports the account again.
      if (cause instanceof OAuthError) throw new OAuthError('invalid_grant', describe(cause), { cause })
      throw tokenOAuthError(cause, 'invalid_grant', describe)
    }
  }
}

/** A token from before this cannot bring the node back into an account. */
const leftAt = ({ accountEpoch, accountAt }: Node) => ({
  epoch: accountEpoch,
  notBefore: Math.floor(accountAt / 1000) + (accountAt === 0 ? 0 : 1),
})

const blocked = () => new OAuthError('access_denied', 'this node is blocked; ask the operator')

/** Any stranger may have one made: on the event loop it takes four times as long. */
const makeKeyPair = promisify(generateKeyPair)

/** The cloud's half of the secret: a key pair for this node alone, of which only the public key is stored. */
async function agree(nodeId: string, { hmac_key }: NodeStatement, nodeKey: string): Promise<Node['hmac']> {
  const { privateKey, publicKey } = await makeKeyPair('ec', { namedCurve: 'P-256' })
  const secret = agreeHmacSecret(privateKey, importNodeKey(hmac_key), nodeId)
  const cloudKey = JSON.stringify(publicJwk.parse(publicKey.export({ format: 'jwk' })))
  return { nodeKey, cloudKey, secret: secret.toString('base64url') }
}

function importNodeKey(jwk: VerifiedProof['jwk']) {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' })
  } catch (cause) {
    throw new OAuthError('invalid_dpop_proof', 'claim "node.hmac_key" of the proof is not a point of P-256', {
      cause,
    })
  }
}
