/** Makes the vitals of a device fit: they travel in a header. */
import type { DeviceVitals } from '@selvedge/protocol/tokens'

/** Text without control characters, cut to a length and not within a character. */
export const plain = (text: string, maxCharacters: number): string =>
  text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, maxCharacters)
    .replace(/\p{Cs}/u, '')

/** Lists that are shortened from their ends if the vitals are too long, in this order. */
const lists = ['services', 'addresses', 'notices'] as const

/**
 * The same vitals, with as many items of their lists as fit.
 *
 * @param maxBytes as JSON
 * @returns undefined if they do not fit even without lists
 */
export function fitVitals(vitals: DeviceVitals, maxBytes: number): DeviceVitals | undefined {
  const fitting = { ...vitals }
  const isTooLong = () => Buffer.byteLength(JSON.stringify(fitting)) > maxBytes
  for (const list of lists)
    while (fitting[list].length > 0 && isTooLong())
      Object.assign(fitting, { [list]: fitting[list].slice(0, -1) })
  return isTooLong() ? undefined : fitting
}
