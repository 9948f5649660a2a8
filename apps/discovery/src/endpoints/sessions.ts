import {
  discoveryPaths,
  longestTrack,
  maxStated,
  OAuthError,
  type SessionResponse,
  sessionRequest,
  statedBytes,
} from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import type { Clock } from '@selvedge/service-kit/clock'
import { addressOf, createLimiter, limitKeyOf, takeOrRefuse } from '@selvedge/service-kit/http'
import { type ProofOptions, requireNode, textBodyOf } from '@selvedge/service-kit/http-app'
import type { FastifyInstance } from 'fastify'
import type { Registry } from '../registry/registry.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { LocationStore } from '../stores/location-store.ts'
import type { Trust } from '../trust/trust.ts'
import { readJson } from './read-json.ts'

export interface SessionsParts {
  readonly clock: Clock
  readonly store: LocationStore
  readonly registry: Registry
  readonly sessions: Sessions
  readonly trust: Pick<Trust, 'edgeVerifier' | 'reasonAgainst' | 'realms'>
  readonly proof: () => ProofOptions
  /** Addresses of proxies that are believed, and sessions a minute that one address may begin. */
  readonly limits: { readonly trustedProxies: AddressSet; readonly address: number }
}

/** `POST /v1/sessions`: a node proves its identity, states its addresses and services, and gets a ticket for its reports. */
export function addSessionsEndpoint(app: FastifyInstance, parts: SessionsParts): void {
  const { clock, store, registry, sessions, trust, proof, limits } = parts
  const { edgeVerifier: verifier, reasonAgainst, realms } = trust
  // Checking a proof costs two signatures, and any client can send one.
  const limiter = createLimiter({ burst: limits.address, perSecond: limits.address / 60 })
  app.post(discoveryPaths.sessions, async (request, reply): Promise<SessionResponse> => {
    takeOrRefuse(limiter, limitKeyOf(addressOf(request.raw, limits.trustedProxies)), 'this address')
    const body = textBodyOf(request)
    const options = { ...proof(), verifier, audience: discoveryAudience, reasonAgainst }
    const node = await requireNode(options, request, reply, body)
    if (node.sub === '') throw new OAuthError('access_denied', 'the node is not associated with an account')
    const said = sessionRequest.safeParse(readJson(body))
    if (!said.success) {
      const [issue] = said.error.issues
      throw new OAuthError('invalid_request', `the field "${issue?.path.join('.')}": ${issue?.message}`)
    }
    const { addresses, services, trackUntil } = said.data
    const bytes = statedBytes(said.data)
    if (bytes > maxStated.bytes)
      throw new OAuthError(
        'invalid_request',
        `addresses and services are ${bytes} bytes; at most ${maxStated.bytes} are accepted`,
      )
    if (trackUntil > clock.now() + longestTrack + 60_000)
      throw new OAuthError(
        'invalid_request',
        `a track is stored for ${longestTrack / 86_400_000} days at most`,
      )
    const { node_id: nodeId, node_name: nodeName } = node
    const accountId = realms.ofEdgeIssuer(node.iss, node.sub)
    const stated = { nodeId, nodeName, accountId, addresses, services, trackUntil }
    const term = await registry.state(stated, node, (former, next) => store.forget(former, nodeId, next))
    return sessions.begin(node, { accountId, term }, said.data)
  })
}
