/** The nodes that another node sees: those of its account, a page at a time, and those nearby. */
import { distanceBetween } from '@selvedge/geo'
import { isOnline, type NodeList, type NodeRecord, OAuthError, onlineWindowMs } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { createLimiter, takeOrRefuse } from '@selvedge/service-kit/http'
import { RecentMap } from '@selvedge/service-kit/tokens'
import type { RegisteredNode, Registry } from '../registry/registry.ts'
import type { SessionNode } from '../sessions/sessions.ts'
import type { KnownLocation, LocationStore } from '../stores/location-store.ts'
import { accountIdOf } from '../trust/realms.ts'
import { firstWithin, maxListBytes } from './bounded-list.ts'
import { placeFor, showFix, showStranger } from './show.ts'

export interface NodeListsParts {
  readonly clock: Clock
  readonly store: LocationStore
  readonly registry: Registry
  /** Seconds between two reports of a healthy node. */
  readonly reportSeconds: number
}

/** Rate limit of searches from new locations: a node that jumps between locations to see more is slowed down. */
const moves = { burst: 20, perSecond: 1 / 30 }
/** Metres between two searches that count as a move. */
const moveMetres = 1000
/** Maximum nodes that have a cached search, to recognize a move. */
const maxCentres = 100_000

export function createNodeLists({ clock, store, registry, reportSeconds }: NodeListsParts) {
  const limitMoves = createMoveLimit()

  /** A node of the own account. At least one of its registry entry and its location is known. */
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
      state: isOnline(heardAt, clock.now(), reportSeconds) ? 'online' : 'offline',
      addresses: [...(node?.addresses ?? [])],
      services: [...(node?.services ?? [])],
      heardAt: isoTime(heardAt),
      distance,
      fix: showFix(location, 'account', clock.now()),
    }
  }

  return {
    /** @param after node ID: the page begins after it */
    async ofAccount(asker: SessionNode, limit: number, after: string): Promise<NodeList> {
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
        const shown = location && placeFor(location, 'account')
        return showOwn(node, location, own && shown ? metres(own, shown.place) : null)
      })
      const data = firstWithin(maxListBytes, all)
      const isMore = found.length > limit || data.length < all.length
      return { type: 'account', data, next: isMore ? data.at(-1)!.nodeId : null }
    },

    /**
     * The nodes around the last known location of the node that searches, nearest first.
     *
     * @param radius metres
     * @throws OAuthError `not_found` if that location is not known
     */
    async nearby(asker: SessionNode, radius: number, limit: number): Promise<NodeList> {
      const [own] = await store.last(asker.accountId, [asker.nodeId])
      if (!own) {
        const hint = 'report its location first: call updateGps, or set gps.source'
        throw new OAuthError('not_found', `the location of this node is not known; ${hint}`)
      }
      limitMoves(asker.nodeId, own)
      const { accountId, nodeId: except } = asker
      const { longitude, latitude } = own
      const heardSince = clock.now() - onlineWindowMs(reportSeconds)
      const found = await store.near({ accountId, except, longitude, latitude, radius, limit, heardSince })
      const registered = await registry.find(
        accountId,
        found.map(({ location }) => location.nodeId),
      )
      const nodes = new Map(registered.map((node) => [node.nodeId, node]))
      const all = found.map(({ location, distance }) => {
        const rounded = Math.round(distance * 10) / 10
        return location.accountId === accountId
          ? showOwn(nodes.get(location.nodeId), location, rounded)
          : showStranger(location, rounded, clock.now())
      })
      return { type: 'proximity', data: firstWithin(maxListBytes, all), next: null }
    },
  }
}

/**
 * Limits how often a node searches from another location than before.
 *
 * @returns a function that throws OAuthError `temporarily_unavailable` beyond the limit
 */
function createMoveLimit(): (nodeId: string, own: KnownLocation) => void {
  const limiter = createLimiter(moves)
  const centres = new RecentMap<string, KnownLocation>(maxCentres)
  return (nodeId, own) => {
    const before = centres.get(nodeId)
    if (before && metres(before, own) <= moveMetres) return
    takeOrRefuse(limiter, nodeId, 'this node from other places')
    centres.set(nodeId, own)
  }
}

const metres = (
  a: { longitude: number; latitude: number },
  b: { longitude: number; latitude: number },
): number => Math.round(distanceBetween(a.longitude, a.latitude, b.longitude, b.latitude) * 10) / 10
