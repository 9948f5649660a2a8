import { discoveryPaths, type LastFix, OAuthError } from '@selvedge/protocol'
import { accessProfile, edgeAudience } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type ProofOptions, requireScope, requireToken } from '@selvedge/service-kit/http-app'
import type { FastifyInstance } from 'fastify'
import type { LocationStore } from '../stores/location-store.ts'
import { accountIdOf } from '../trust/realms.ts'
import type { Trust } from '../trust/trust.ts'
import { placeFor, toldTo } from './show.ts'

export interface LastFixParts {
  readonly clock: Clock
  readonly store: LocationStore
  readonly trust: Pick<Trust, 'tenantVerifier' | 'reasonAgainst' | 'realms'>
  readonly proof: () => ProofOptions
}

/**
 * `GET /v1/nodes/<id>/fix`: where a node was last, for its own account. A token reads where its own node is; of the others it needs
 * the scope for them. Other accounts get the same answer as for an unknown node.
 */
export function addLastFixEndpoint(app: FastifyInstance, { clock, store, trust, proof }: LastFixParts): void {
  const { tenantVerifier: verifier, reasonAgainst, realms } = trust
  const checks = { verifier, profile: accessProfile, audience: edgeAudience, reasonAgainst }
  app.get<{ Params: { nodeId: string } }>(
    discoveryPaths.fixOf(':nodeId'),
    async (request, reply): Promise<LastFix> => {
      reply.header('WWW-Authenticate', 'Bearer')
      const claims = await requireToken({ ...checks, ...proof() }, request, reply)
      reply.removeHeader('WWW-Authenticate')
      if (claims.node_id !== request.params.nodeId)
        requireScope(claims, 'edge:clusters', 'the location of another node')
      const account = realms.ofTenant(claims.iss, claims.account_id)
      const [last] = await store.last(account, [request.params.nodeId])
      const told = last && placeFor(last, 'account')
      if (!told)
        throw new OAuthError('not_found', 'the account has no node with this ID that shares its location')
      const { nodeId, nodeName, accountId, fixedAt, receivedAt, source, suspect } = last
      return {
        nodeId,
        nodeName,
        accountId: accountIdOf(accountId),
        ...toldTo(last, told),
        source,
        suspect,
        fixedAt: isoTime(fixedAt),
        receivedAt: isoTime(receivedAt),
        ageSeconds: Math.max(0, Math.floor((clock.now() - fixedAt) / 1000)),
      }
    },
  )
}
