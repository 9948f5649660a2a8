import { type AccountFix, discoveryPaths, nodeIdPattern, OAuthError } from '@selvedge/protocol'
import { discoveryAudience, leeway, type PersonClaims, personProfile } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import {
  type EventStream,
  openEventStream,
  type ProofOptions,
  requireScope,
  requireToken,
} from '@selvedge/service-kit/http-app'
import { safely } from '@selvedge/service-kit/safely'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { KnownLocation, LocationStore } from '../stores/location-store.ts'
import type { Trust } from '../trust/trust.ts'
import { readQuery } from './read-query.ts'
import { type ReadTrackParts, readTrack, trackQuery } from './read-track.ts'
import { placeFor, toldTo } from './show.ts'
import { writePlaces } from './write-places.ts'

/** Maximum nodes of one request. */
const mostAsked = 500
/** Streams of one account: each replica of the identity service needs one. */
const maxReaders = 100
const isNodeId = (text: string): boolean => nodeIdPattern.test(text)

export interface AccountParts extends ReadTrackParts {
  readonly clock: Clock
  readonly store: LocationStore
  readonly trust: Pick<
    Trust,
    'tenantVerifier' | 'reasonAgainst' | 'revokedReason' | 'onRevocation' | 'realms'
  >
  readonly proof: () => ProofOptions
}

/** The streams of one account. */
interface Streams {
  readonly readers: Map<EventStream, PersonClaims>
  readonly stop: () => void
}

/**
 * `GET /v1/account/fixes`, `/v1/account/places`, `/v1/account/fixes/stream` and `/v1/account/nodes/<id>/track`: where the nodes of an
 * account are and were, and each new fix. For the console of the tenant, which names the account in a token of the tenant.
 */
export function addAccountEndpoints(
  app: FastifyInstance,
  { clock, store, trust, proof, ...rest }: AccountParts,
): void {
  const { tenantVerifier: verifier, reasonAgainst, revokedReason, realms } = trust
  const checks = { verifier, profile: personProfile, audience: discoveryAudience, reasonAgainst }
  const streams = new Map<string, Streams>()

  async function callerOf(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ claims: PersonClaims; accountId: string }> {
    const claims = await requireToken({ ...checks, ...proof() }, request, reply)
    requireScope(claims, 'edge:clusters', 'where the nodes of an account are')
    return { claims, accountId: realms.ofTenant(claims.iss, claims.account_id) }
  }

  trust.onRevocation(() => {
    for (const { readers } of streams.values())
      for (const [stream, claims] of readers) {
        const detail = revokedReason(claims)
        if (detail !== undefined) stream.end({ reason: 'token_revoked', detail })
      }
  })

  /** The readers of an account; the first of them makes the store be watched. */
  function readersOf(accountId: string): Streams['readers'] {
    const known = streams.get(accountId)
    if (known) return known.readers
    const readers: Streams['readers'] = new Map()
    const stop = store.watch(accountId, (location) => {
      const fix = toAccountFix(location)
      if (fix) for (const stream of readers.keys()) stream.send(fix)
    })
    streams.set(accountId, { readers, stop })
    return readers
  }

  app.get(discoveryPaths.accountFixes, async (request, reply): Promise<AccountFix[]> => {
    const { accountId } = await callerOf(request, reply)
    const { nodes } = request.query as { nodes?: unknown }
    if (typeof nodes !== 'string')
      throw new OAuthError('invalid_request', `name at most ${mostAsked} nodes: ?nodes=<id>,<id>`)
    const locations = await store.last(accountId, nodes.split(',').slice(0, mostAsked).filter(isNodeId))
    return locations.map((each) => each && toAccountFix(each)).filter((fix) => fix !== undefined)
  })

  app.get(discoveryPaths.accountPlaces, async (request, reply) => {
    const { accountId } = await callerOf(request, reply)
    return reply.type('application/json').send(await writePlaces(await store.ofAccount(accountId)))
  })

  app.get<{ Params: { nodeId: string } }>(
    discoveryPaths.accountTrackOf(':nodeId'),
    async (request, reply) => {
      const { accountId } = await callerOf(request, reply)
      const asked = { accountId, nodeId: request.params.nodeId, isOwn: false }
      return readTrack({ clock, store, ...rest }, asked, readQuery(trackQuery, request.query))
    },
  )

  app.get(discoveryPaths.accountStream, async (request, reply) => {
    const { claims, accountId } = await callerOf(request, reply)
    const readers = readersOf(accountId)
    if (readers.size >= maxReaders)
      throw new OAuthError(
        'temporarily_unavailable',
        `${readers.size} streams of the account are open already`,
      )
    let expiry: NodeJS.Timeout | undefined
    const stream = openEventStream(request, reply, () => {
      clearTimeout(expiry)
      readers.delete(stream)
      if (readers.size > 0) return
      streams.get(accountId)?.stop()
      streams.delete(accountId)
    })
    const detail = `the token of the stream expired ${isoTime(claims.exp * 1000)}`
    const end = () => stream.end({ reason: 'token_expired', detail })
    expiry = setTimeout(safely('account.expire', end), (claims.exp + leeway) * 1000 - clock.now())
    readers.set(stream, claims)
  })
}

/** What people of the account see. */
function toAccountFix(location: KnownLocation): AccountFix | undefined {
  const told = placeFor(location, 'account')
  if (!told) return undefined
  const { longitude, latitude, speed, bearing } = toldTo(location, told)
  return { nodeId: location.nodeId, longitude, latitude, speed, bearing, fixedAt: isoTime(location.fixedAt) }
}
