/** The places of all nodes of an account as JSON. */
import { setImmediate } from 'node:timers/promises'
import type { AccountPlace } from '@selvedge/protocol'
import type { KnownLocation } from '../stores/location-store.ts'
import { placeFor } from './show.ts'

/** Bytes of the places of a whole account: those of about 180,000 nodes. */
export const maxPlacesBytes = 16 * 1024 * 1024
/** Places that are written at once: a few milliseconds. Between two of such parts, other requests are answered. */
export const placesAtOnce = 2000

/**
 * Nodes that do not share their place with their account are left out.
 *
 * @returns a list of `AccountPlace`, of as many nodes as have room
 */
export async function writePlaces(
  locations: readonly KnownLocation[],
  maxBytes = maxPlacesBytes,
): Promise<Buffer> {
  const parts: Buffer[] = []
  // A comma is before each but the first.
  let bytes = 1
  for (let at = 0; at < locations.length; at += placesAtOnce) {
    if (at > 0) await setImmediate()
    const texts = locations.slice(at, at + placesAtOnce).flatMap(placeText)
    const end = texts.findIndex((each) => (bytes += each.length + 1) > maxBytes)
    const part = texts.slice(0, end === -1 ? undefined : end).join(',')
    if (part !== '') parts.push(Buffer.from(`${parts.length === 0 ? '' : ','}${part}`))
    if (end !== -1) break
  }
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')])
}

function placeText(location: KnownLocation): string[] {
  const place = placeFor(location, 'account')?.place
  if (!place) return []
  const shown: AccountPlace = [
    ...([location.nodeId, round(place.longitude), round(place.latitude)] as const),
    Math.floor(location.heardAt / 1000),
  ]
  return [JSON.stringify(shown)]
}

/** About a metre. */
const round = (degrees: number): number => Math.round(degrees * 1e5) / 1e5
