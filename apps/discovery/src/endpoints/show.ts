/** Locations as an audience may see them. Every location that leaves the service comes from here. */
import { type Place, snap } from '@selvedge/geo'
import type { Audience, NodeFix, NodeRecord, ToldPrecision } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { KnownLocation } from '../stores/location-store.ts'

const minute = 60_000

/** A location, rounded as its audience may see it. */
export function placeFor(
  location: KnownLocation,
  audience: Audience,
): { place: Place; precision: ToldPrecision } | undefined {
  const precision = location.sharing[audience]
  const place = snap(precision, location)
  // Every precision that shows a location has a place.
  return place && { place, precision: precision as ToldPrecision }
}

/** Location and movement, where a client expects numbers: a rounded location has no movement. */
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

/**
 * The fix as an audience may see it; null if it may not see the fix. Other accounts see only the rounded location and the minute.
 */
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

/** A node of another account, nearby. */
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
