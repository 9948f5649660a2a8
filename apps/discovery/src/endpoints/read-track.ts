import { OAuthError, type Track, trackLimits } from '@selvedge/protocol'
import { isoTime, type SteadyClock } from '@selvedge/service-kit/clock'
import * as z from 'zod'
import type { Registry } from '../registry/registry.ts'
import type { Tracks } from '../registry/tracks.ts'
import type { LocationStore } from '../stores/location-store.ts'

export interface ReadTrackParts {
  readonly clock: Pick<SteadyClock, 'now'>
  readonly store: Pick<LocationStore, 'last'>
  readonly registry: Pick<Registry, 'find'>
  readonly tracks: Pick<Tracks, 'of'>
}

/** Query of a request for a track. */
export const trackQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(trackLimits.page).default(trackLimits.page),
  before: z.coerce.number().int().min(0).optional(),
})

/** The track that is requested: `isOwn` if the node itself requests it, which sees it whatever it shares. */
interface Asked {
  readonly accountId: string
  readonly nodeId: string
  readonly isOwn: boolean
}

/** @throws OAuthError `not_found` if the node is not of the account, or does not share exact locations with it */
export async function readTrack(
  { clock, store, registry, tracks }: ReadTrackParts,
  { accountId, nodeId, isOwn }: Asked,
  { limit, before }: z.infer<typeof trackQuery>,
): Promise<Track> {
  const [[node], [last]] = await Promise.all([
    registry.find(accountId, [nodeId]),
    store.last(accountId, [nodeId]),
  ])
  // The track is as exact as the fixes were: only for the node itself, or for an account that sees exact locations.
  const isShared = isOwn || last?.sharing.account === 'exact'
  if (!node || !isShared)
    throw new OAuthError('not_found', 'the account has no node with this ID that shares its track')
  const isStored = node.trackUntil > clock.now()
  const found = isStored ? await tracks.of(nodeId, limit + 1, before) : []
  const points = found.slice(-limit)
  return {
    data: points.map(({ longitude, latitude, fixedAt }) => [longitude, latitude, fixedAt]),
    next: found.length > limit ? points[0]!.fixedAt : null,
    until: isStored ? isoTime(node.trackUntil) : null,
  }
}
