import { type AccountFix, discoveryPaths, OAuthError } from '@selvedge/protocol'
import { discoveryAudience, personProfile } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { asOAuth, type EventStream, openEventStream } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Location, LocationStore } from '../stores/location-store.ts'

export interface AccountParts {
  readonly store: LocationStore
  /** Believes the tenants. */
  readonly verifier: TokenVerifier
}

/**
 * `GET /v1/account/fixes` and `…/stream`: where the nodes of an account are, and each new fix. For the console of the tenant,
 * with the tenant's own word of which account is looked at.
 */
export function addAccountEndpoints(app: FastifyInstance, { store, verifier }: AccountParts): void {
  const streams = new Map<string, Set<EventStream>>()

  async function accountOf({ headers: { authorization = '' } }: FastifyRequest): Promise<string> {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
    if (token === '')
      throw new OAuthError('invalid_token', 'send a token of the tenant as "Authorization: Bearer <token>"')
    return (await asOAuth(() => verifier.verify(token, personProfile, discoveryAudience))).account_id
  }

  store.onNews((location) => {
    for (const stream of streams.get(location.accountId) ?? []) stream.send(toAccountFix(location))
  })
  app.addHook('preClose', (done) => {
    for (const each of streams.values()) for (const stream of each) stream.end()
    done()
  })

  app.get(discoveryPaths.accountFixes, async (request): Promise<AccountFix[]> => {
    const accountId = await accountOf(request)
    return store.ofAccount(accountId).map(toAccountFix)
  })

  app.get(discoveryPaths.accountStream, async (request, reply) => {
    const accountId = await accountOf(request)
    const own = streams.get(accountId) ?? new Set()
    streams.set(accountId, own)
    const stream = openEventStream(request, reply, () => {
      own.delete(stream)
      if (own.size === 0) streams.delete(accountId)
    })
    own.add(stream)
  })
}

const toAccountFix = ({ nodeId, longitude, latitude, speed, bearing, fixedAt }: Location): AccountFix => ({
  nodeId,
  longitude,
  latitude,
  speed,
  bearing,
  fixedAt: isoTime(fixedAt),
})
