import { type EdgeTokenResponse, identityPaths, OAuthError } from '@selvedge/protocol'
import {
  type JoinClaim,
  readJoinClaim,
  readLeaseUses,
  readStartClaim,
  readVitals,
} from '@selvedge/protocol/tokens'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf } from '@selvedge/service-kit/http'
import { requireProof } from '@selvedge/service-kit/http-app'
import { nodeIdOf, type SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Copies } from '../../registry/nodes/copies.ts'
import type { Enrolment } from '../../tokens/enrolment/enrolment.ts'
import type { EdgeMint } from '../../tokens/enrolment/mint-edge.ts'
import type { Limits } from '../../tokens/grants/limits.ts'

export interface EdgeTokenParts {
  readonly issuer: () => string
  /** Number of the newest change that is known. */
  readonly epoch: () => number
  readonly dpop: SharedDpopVerifier
  readonly limits: Pick<Limits, 'takeNode'>
  readonly enrolment: Enrolment
  readonly edgeMint: EdgeMint
  readonly copies: Copies
  /** IP addresses of trusted proxies. */
  readonly trustedProxies: AddressSet
}

/**
 * `POST /edge/token`: a node proves its key and gets an edge ID token. The first request enrols the node; each one agrees on the
 * HMAC secret if it does not exist yet, and updates the name and the account in the registry. A repetition does no harm.
 */
export function addEdgeTokenEndpoint(app: FastifyInstance, parts: EdgeTokenParts): void {
  const { issuer, dpop, limits, enrolment, edgeMint, copies, trustedProxies } = parts

  app.post(identityPaths.edgeToken, async (request, reply): Promise<EdgeTokenResponse> => {
    const proof = await requireProof({ dpop, url: issuer() }, request, reply)
    const { node: statement, jwk, jkt } = proof
    if (!statement) throw new OAuthError('invalid_dpop_proof', 'the proof has no claim "node"')
    const join = statement.account ? undefined : joinOf(proof.join)
    const stated = {
      ...statement,
      join,
      vitals: readVitals(proof.vitals),
      leases: readLeaseUses(proof.leases),
    }
    const audience = edgeMint.audienceOf(stated)
    const nodeId = nodeIdOf(jwk)
    const epoch = parts.epoch()
    limits.takeNode(nodeId)
    const address = addressOf(request.raw, trustedProxies)
    const node = await enrolment.bringUpToDate(nodeId, stated, address)
    const start = readStartClaim(proof.start)
    const isCopied = start !== undefined && (await copies.follow(start, node, address))
    return {
      id_token: await edgeMint.idToken({ node, audience, jkt, epoch }),
      expires_in: edgeMint.lifetimeSeconds,
      account_id: node.accountId,
      ...edgeMint.timeFor(nodeId, stated),
      hmac_key: JSON.parse(node.hmac.cloudKey),
      ...(node.removedAccount !== '' && { removed_account: node.removedAccount }),
      ...(isCopied && { copied: true }),
      ...(join && { join: node.accountId === '' ? 'waiting' : 'joined' }),
    }
  })
}

/** @throws OAuthError `invalid_grant`: the device continues without its key */
function joinOf(claim: unknown): JoinClaim | undefined {
  if (claim === undefined) return undefined
  const read = readJoinClaim(claim)
  if (read) return read
  throw new OAuthError('invalid_grant', 'the join key is not accepted: the claim "join" is malformed')
}
