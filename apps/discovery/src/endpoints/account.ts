import {
  type AccountFix,
  type AccountPlace,
  discoveryPaths,
  nodeIdPattern,
  OAuthError,
} from '@selvedge/protocol'
import { discoveryAudience, personProfile } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { asOAuth, type EventStream, openEventStream } from '@selvedge/service-kit/http-app'
import type { TokenVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { KnownLocation, LocationStore } from '../stores/location-store.ts'
import { placeFor, toldTo } from './show.ts'

/** Maximum nodes of one request. */
const mostAsked = 500
/** Streams of one account: each replica of the identity service needs one. */
const maxReaders = 100
const isNodeId = (text: string): boolean => nodeIdPattern.test(text)

export interface AccountParts {
  readonly store: LocationStore
  /** Believes the tenants. */
  readonly verifier: TokenVerifier
}

/**
 * `GET /v1/account/fixes`, `/v1/account/places` and `/v1/account/fixes/stream`: where the nodes of an account are, and each new
 * fix. For the console of the tenant, with the tenant's own word of which account is looked at.
 */
export function addAccountEndpoints(app: FastifyInstance, { store, verifier }: AccountParts): void {
  const streams = new Map<string, { readonly readers: Set<EventStream>; readonly stop: () => void }>()

  async function accountOf({ headers: { authorization = '' } }: FastifyRequest): Promise<string> {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
    if (token === '')
      throw new OAuthError('invalid_token', 'send a token of the tenant as "Authorization: Bearer <token>"')
    return (await asOAuth(() => verifier.verify(token, personProfile, discoveryAudience))).account_id
  }

  app.addHook('preClose', (done) => {
    for (const { readers } of streams.values()) for (const stream of readers) stream.end()
    done()
  })

  /** The readers of an account; the first of them makes the store be watched. */
  function readersOf(accountId: string): Set<EventStream> {
    const known = streams.get(accountId)
    if (known) return known.readers
    const readers = new Set<EventStream>()
    const stop = store.watch(accountId, (location) => {
      const fix = toAccountFix(location)
      if (fix) for (const stream of readers) stream.send(fix)
    })
    streams.set(accountId, { readers, stop })
    return readers
  }

  app.get(discoveryPaths.accountFixes, async (request): Promise<AccountFix[]> => {
    const accountId = await accountOf(request)
    const { nodes } = request.query as { nodes?: string }
    const locations =
      nodes === undefined
        ? await store.ofAccount(accountId)
        : await store.last(accountId, nodes.split(',').slice(0, mostAsked).filter(isNodeId))
    return locations.map((each) => each && toAccountFix(each)).filter((fix) => fix !== undefined)
  })

  app.get(discoveryPaths.accountPlaces, async (request): Promise<AccountPlace[]> => {
    const locations = await store.ofAccount(await accountOf(request))
    return locations.flatMap((location): AccountPlace[] => {
      const place = placeFor(location, 'account')?.place
      if (!place) return []
      const round = (degrees: number) => Math.round(degrees * 1e5) / 1e5
      return [
        [location.nodeId, round(place.longitude), round(place.latitude), Math.floor(location.heardAt / 1000)],
      ]
    })
  })

  app.get(discoveryPaths.accountStream, async (request, reply) => {
    const accountId = await accountOf(request)
    const readers = readersOf(accountId)
    if (readers.size >= maxReaders)
      throw new OAuthError(
        'temporarily_unavailable',
        `${readers.size} streams of the account are open already`,
      )
    const stream = openEventStream(request, reply, () => {
      readers.delete(stream)
      if (readers.size > 0) return
      streams.get(accountId)?.stop()
      streams.delete(accountId)
    })
    readers.add(stream)
  })
}

/** What people of the account see. */
function toAccountFix(location: KnownLocation): AccountFix | undefined {
  const told = placeFor(location, 'account')
  if (!told) return undefined
  const { longitude, latitude, speed, bearing } = toldTo(location, told)
  return { nodeId: location.nodeId, longitude, latitude, speed, bearing, fixedAt: isoTime(location.fixedAt) }
}
