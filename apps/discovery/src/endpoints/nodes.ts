import { distanceBetween } from '@selvedge/geo'
import {
  discoveryPaths,
  type NodeList,
  type NodeRecord,
  nodeIdPattern,
  nodeLimits,
  OAuthError,
  type Track,
  trackLimits,
} from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import { RecentMap } from '@selvedge/service-kit/tokens'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { RegisteredNode, Registry } from '../registry/registry.ts'
import type { Tracks } from '../registry/tracks.ts'
import type { SessionNode, Sessions } from '../sessions/sessions.ts'
import type { KnownLocation, LocationStore } from '../stores/location-store.ts'
import { accountIdOf } from '../trust/realms.ts'
import { firstWithin, maxListBytes } from './bounded-list.ts'
import { placeFor, showFix, showStranger } from './show.ts'

export interface NodesParts {
  readonly clock: Clock
  readonly store: LocationStore
  readonly registry: Registry
  readonly tracks: Tracks
  readonly sessions: Sessions
  /** Milliseconds without a report after which a node is offline. */
  readonly silence: number
}

/** How often a node may search, and from how many places: a node that jumps between places to see more is slowed down. */
const asks = { burst: 60, perSecond: 2 }
const moves = { burst: 20, perSecond: 1 / 30 }
/** Metres from one question to the next that count as a move. */
const step = 1000

const query = z.discriminatedUnion('cluster', [
  z.strictObject({
    cluster: z.literal('account'),
    limit: z.coerce.number().int().min(1).max(nodeLimits.page.most).default(nodeLimits.page.usual),
    after: z.string().regex(nodeIdPattern).optional(),
  }),
  z.strictObject({
    cluster: z.literal('proximity'),
    radius: z.coerce.number().positive().max(nodeLimits.radius.most).default(nodeLimits.radius.usual),
    limit: z.coerce.number().int().min(1).max(nodeLimits.nearest.most).default(nodeLimits.nearest.usual),
  }),
])

const trackQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(trackLimits.page).default(trackLimits.page),
  before: z.coerce.number().int().min(0).optional(),
})

/** What a query asks for. @throws OAuthError `invalid_request` */
function readQuery<T extends z.ZodType>(type: T, given: unknown): z.infer<T> {
  const asked = type.safeParse(given)
  if (asked.success) return asked.data
  const [issue] = asked.error.issues
  throw new OAuthError('invalid_request', `"${issue?.path.join('.') || 'cluster'}": ${issue?.message}`)
}

/** `GET /v1/nodes` and `GET /v1/nodes/<id>/track`, for nodes. */
export function addNodesEndpoints(app: FastifyInstance, parts: NodesParts): void {
  const { clock, store, registry, tracks, sessions, silence } = parts
  const asking = createLimiter(asks)
  const moving = createLimiter(moves)
  const centres = new RecentMap<string, KnownLocation>(100_000)

  const stateOf = (heardAt: number) => (clock.now() - heardAt <= silence ? 'online' : 'offline')

  function showOwn(
    node: RegisteredNode | undefined,
    location: KnownLocation | undefined,
    distance: number | null,
  ): NodeRecord {
    const heardAt = Math.max(node?.heardAt ?? 0, location?.heardAt ?? 0)
    return {
      nodeId: (node ?? location)!.nodeId,
      name: (location ?? node)!.nodeName,
      accountId: accountIdOf((node ?? location)!.accountId),
      state: stateOf(heardAt),
      addresses: [...(node?.addresses ?? [])],
      services: [...(node?.services ?? [])],
      heardAt: isoTime(heardAt),
      distance,
      fix: showFix(location, 'account', clock.now()),
    }
  }

  const askerOf = ({ headers: { authorization }, url }: FastifyRequest): SessionNode =>
    sessions.nodeOf({ authorization, method: 'GET', path: url, body: '' })

  async function ofAccount(asker: SessionNode, limit: number, after: string): Promise<NodeList> {
    // One more than is shown, to know whether there are more.
    const found = await registry.page(asker.accountId, after, limit + 1)
    const page = found.slice(0, limit)
    const ids = page.map(({ nodeId }) => nodeId)
    const [locations, [own]] = await Promise.all([
      store.last(asker.accountId, ids),
      store.last(asker.accountId, [asker.nodeId]),
    ])
    const all = page.map((node, index) => {
      const location = locations[index]
      const told = location && placeFor(location, 'account')
      return showOwn(node, location, own && told ? metres(own, told.place) : null)
    })
    const data = firstWithin(maxListBytes, all)
    const isMore = found.length > limit || data.length < all.length
    return { type: 'account', data, next: isMore ? data.at(-1)!.nodeId : null }
  }

  async function nearby(asker: SessionNode, radius: number, limit: number): Promise<NodeList> {
    const [own] = await store.last(asker.accountId, [asker.nodeId])
    if (!own) {
      const hint = 'report its location first: call updateGps, or set gps.source'
      throw new OAuthError('not_found', `the location of this node is not known; ${hint}`)
    }
    const before = centres.get(asker.nodeId)
    if (!before || metres(before, own) > step) {
      takeOrRefuse(moving, asker.nodeId, 'this node from other places')
      centres.set(asker.nodeId, own)
    }
    const { accountId, nodeId: except } = asker
    const { longitude, latitude } = own
    const heardSince = clock.now() - silence
    const found = await store.near({ accountId, except, longitude, latitude, radius, limit, heardSince })
    const mine = found.filter(({ location }) => location.accountId === accountId)
    const registered = await registry.find(
      accountId,
      mine.map(({ location }) => location.nodeId),
    )
    const nodes = new Map(registered.map((node) => [node.nodeId, node]))
    const all = found.map(({ location, distance }) => {
      const rounded = Math.round(distance * 10) / 10
      return location.accountId === accountId
        ? showOwn(nodes.get(location.nodeId), location, rounded)
        : showStranger(location, rounded, clock.now())
    })
    return { type: 'proximity', data: firstWithin(maxListBytes, all), next: null }
  }

  app.get(discoveryPaths.nodes, async (request): Promise<NodeList> => {
    const asker = askerOf(request)
    takeOrRefuse(asking, asker.nodeId, 'this node')
    const asked = readQuery(query, request.query)
    return asked.cluster === 'account'
      ? ofAccount(asker, asked.limit, asked.after ?? '')
      : nearby(asker, asked.radius, asked.limit)
  })

  app.get<{ Params: { nodeId: string } }>(
    discoveryPaths.trackOf(':nodeId'),
    async (request): Promise<Track> => {
      const { accountId, nodeId: asker } = askerOf(request)
      takeOrRefuse(asking, asker, 'this node')
      const { nodeId } = request.params
      const { limit, before } = readQuery(trackQuery, request.query)
      const [[node], [last]] = await Promise.all([
        registry.find(accountId, [nodeId]),
        store.last(accountId, [nodeId]),
      ])
      // The track is as exact as the fixes were: only for the node itself, or for an account that sees exact locations.
      const isTold = nodeId === asker || last?.sharing.account === 'exact'
      if (!node || !isTold)
        throw new OAuthError('not_found', 'the account has no node with this ID that shares its track')
      const isKept = node.trackUntil > clock.now()
      const found = isKept ? await tracks.of(nodeId, limit + 1, before) : []
      const points = found.slice(-limit)
      return {
        data: points.map(({ longitude, latitude, fixedAt }) => [longitude, latitude, fixedAt]),
        next: found.length > limit ? points[0]!.fixedAt : null,
        until: isKept ? isoTime(node.trackUntil) : null,
      }
    },
  )
}

const metres = (
  a: { longitude: number; latitude: number },
  b: { longitude: number; latitude: number },
): number => Math.round(distanceBetween(a.longitude, a.latitude, b.longitude, b.latitude) * 10) / 10
