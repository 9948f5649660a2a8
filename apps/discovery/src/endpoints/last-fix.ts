import { discoveryPaths, type LastFix, OAuthError } from '@selvedge/protocol'
import { accessProfile, edgeAudience } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { asOAuth } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance } from 'fastify'
import type { LocationStore } from '../stores/location-store.ts'
import { placeFor, toldTo } from './show.ts'

export interface LastFixParts {
  readonly clock: Clock
  readonly store: LocationStore
  /** Believes the tenants. */
  readonly verifier: TokenVerifier
}

/** `GET /v1/nodes/<id>/fix`: where a node was last, for its own account. To others it looks as if there were no such node. */
export function addLastFixEndpoint(app: FastifyInstance, { clock, store, verifier }: LastFixParts): void {
  app.get<{ Params: { nodeId: string } }>(
    discoveryPaths.fixOf(':nodeId'),
    async (request, reply): Promise<LastFix> => {
      const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
      reply.header('WWW-Authenticate', 'Bearer')
      if (token === '')
        throw new OAuthError('invalid_token', 'send the access token as "Authorization: Bearer <token>"')
      const { account_id } = await asOAuth(() => verifier.verify(token, accessProfile, edgeAudience))
      reply.removeHeader('WWW-Authenticate')
      const [last] = await store.last(account_id, [request.params.nodeId])
      const told = last && placeFor(last, 'account')
      if (!told)
        throw new OAuthError('not_found', 'the account has no node of this ID that tells where it is')
      const { nodeId, nodeName, accountId, fixedAt, receivedAt, source, suspect } = last
      return {
        nodeId,
        nodeName,
        accountId,
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
