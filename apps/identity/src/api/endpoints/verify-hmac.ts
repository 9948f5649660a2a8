import { identityPaths, OAuthError, type VerifyHmacResponse } from '@selvedge/protocol'
import { parseJson } from '@selvedge/protocol/jsonrpc'
import type { EdgeIdClaims } from '@selvedge/protocol/tokens'
import { type Clock, seconds } from '@selvedge/service-kit/clock'
import { requireNode, textBodyOf } from '@selvedge/service-kit/http-app'
import {
  hmacIssuer,
  type SharedDpopVerifier,
  type TokenVerifier,
  verifyHmacCode,
} from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { Nodes } from '../../registry/nodes/nodes.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'

export interface VerifyHmacParts {
  readonly clock: Clock
  readonly issuer: () => string
  readonly nodes: Nodes
  readonly revocations: Revocations
  readonly dpop: SharedDpopVerifier
  /** Believes this cloud's own keys only. */
  readonly ownVerifier: TokenVerifier
  /** The audience that edge ID tokens of this cloud carry. */
  readonly audiences: () => readonly string[]
}

/**
 * `POST /edge/hmac/verify`: a node checks whether another node created a code. Only enrolled nodes may call it, with their edge ID
 * token and a proof of its key, so that codes cannot be guessed anonymously.
 */
export function addVerifyHmacEndpoint(app: FastifyInstance, parts: VerifyHmacParts): void {
  const { clock, issuer, nodes, dpop, ownVerifier: verifier, audiences } = parts

  async function reasonAgainst(asking: EdgeIdClaims): Promise<string | undefined> {
    const asker = await nodes.find(asking.node_id)
    if (!asker || asker.blockedAt !== null) return 'its node is blocked'
    return parts.revocations.edgeReasonFor(asking) ?? parts.revocations.reasonFor(asking)
  }

  app.post(identityPaths.verifyHmac, async (request, reply): Promise<VerifyHmacResponse> => {
    const options = { dpop, url: issuer(), verifier, audience: audiences()[0]!, reasonAgainst }
    await requireNode(options, request, reply)
    const { edgeHmacCode, nodeId, uri } = readBody(textBodyOf(request))
    const made = hmacIssuer(edgeHmacCode)
    const node = made === undefined ? undefined : await nodes.find(made)
    if (!node || node.blockedAt !== null) return { valid: false, reason: 'invalid' }
    return verifyHmacCode(
      Buffer.from(node.hmac.secret, 'base64url'),
      edgeHmacCode,
      { nodeId, uri },
      seconds(clock),
    )
  })
}

function readBody(body: string): { edgeHmacCode: string; nodeId: string; uri: string } {
  const { edgeHmacCode, nodeId, uri } = tryParse(body)
  if (typeof edgeHmacCode !== 'string' || typeof nodeId !== 'string' || typeof uri !== 'string') {
    throw new OAuthError(
      'invalid_request',
      'the body is not {"edgeHmacCode":…,"nodeId":…,"uri":…} with strings',
    )
  }
  return { edgeHmacCode, nodeId, uri }
}

function tryParse(body: string): Record<string, unknown> {
  try {
    return (parseJson(body, 2) ?? {}) as Record<string, unknown>
  } catch (cause) {
    throw new OAuthError('invalid_request', `the body is not JSON: ${(cause as Error).message}`, { cause })
  }
}
