/** A location as somebody is told it: nothing that is not for them leaves by any other way. */
import { type Place, snap } from '@selvedge/geo'
import type { Audience, NodeFix, NodeRecord, ToldPrecision } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { KnownLocation } from '../stores/location-store.ts'

const minute = 60_000

/** The place that an audience is told of a location. */
export function placeFor(
  location: KnownLocation,
  audience: Audience,
): { place: Place; precision: ToldPrecision } | undefined {
  const precision = location.sharing[audience]
  if (precision === 'none') return undefined
  const place = snap(precision, location)
  return place && { place, precision }
}

/** Place and movement, where a client expects numbers: without the movement of a node that is told coarsely. */
export function toldTo(
  location: KnownLocation,
  { place, precision }: NonNullable<ReturnType<typeof placeFor>>,
) {
  const isExact = precision === 'exact'
  return {
    longitude: place.longitude,
    latitude: place.latitude,
    speed: isExact ? location.speed : 0,
    bearing: isExact ? location.bearing : 0,
    precision,
    ...(isExact && location.accuracy !== undefined && { accuracy: location.accuracy }),
  }
}

/** The fix as an audience is told it; null where nothing is. Others learn the place and the minute, no more. */
export function showFix(
  location: KnownLocation | undefined,
  audience: Audience,
  now: number,
): NodeFix | null {
  const told = location && placeFor(location, audience)
  if (!told) return null
  const { place, precision } = told
  const isOwn = audience === 'account'
  const fixedAt = isOwn ? location.fixedAt : Math.floor(location.fixedAt / minute) * minute
  return {
    longitude: place.longitude,
    latitude: place.latitude,
    precision,
    speed: isOwn && precision === 'exact' ? location.speed : null,
    bearing: isOwn && precision === 'exact' ? location.bearing : null,
    accuracy: isOwn && precision === 'exact' ? (location.accuracy ?? null) : null,
    fixedAt: isoTime(fixedAt),
    receivedAt: isOwn ? isoTime(location.receivedAt) : null,
    ageSeconds: Math.max(0, Math.floor((now - fixedAt) / 1000)),
    source: isOwn ? location.source : null,
    suspect: location.suspect,
  }
}

/** A node of somebody else, nearby. */
export const showStranger = (location: KnownLocation, distance: number, now: number): NodeRecord => ({
  nodeId: location.nodeId,
  name: null,
  accountId: null,
  state: 'online',
  addresses: [],
  services: [],
  heardAt: null,
  distance,
  fix: showFix(location, 'others', now),
})
