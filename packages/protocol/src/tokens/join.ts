/**
 * Join keys: with one, a new device joins an account without a person at the device. A join key carries no other right: it reads nothing,
 * and no token is issued for it.
 */
import * as z from 'zod'

/** `sj_` and 192 random bits in base64url. */
export const joinKeyPattern = /^sj_[\w-]{32}$/

/** Limits of join keys: characters, uses, days until one expires, and what one account may have at once. */
export const joinLimits = {
  serialCharacters: 64,
  titleCharacters: 60,
  nameCharacters: 60,
  uses: 100_000,
  days: 366,
  /** Join keys of one account, with those that have expired and are still listed. */
  keys: 1000,
  /** Devices of one account that wait for an approval. */
  waiting: 1000,
} as const

/** The claim of a device that joins by a key. The serial number is what the device states; it is not proved. */
const joinClaim = z.object({
  key: z.string().regex(joinKeyPattern),
  serial: z.string().max(200).optional(),
})
export type JoinClaim = z.infer<typeof joinClaim>

/** The claim `join` of a proof; undefined if it is ill formed. */
export const readJoinClaim = (claim: unknown): JoinClaim | undefined => joinClaim.safeParse(claim).data

/** A serial number as names and lists show it; "" for one with other characters, or of another length. */
export const plainSerial = (serial: string | undefined): string =>
  serial !== undefined && /^[\w.-]{1,64}$/.test(serial) ? serial : ''

/** What is shown of a node ID where a person compares two of them: its first 64 bits, in groups. */
export const fingerprint = { characters: 16, group: 4 } as const

export const fingerprintOf = (nodeId: string): string =>
  (nodeId.slice(0, fingerprint.characters).match(/.{1,4}/g) ?? []).join('-')

/** Characters of a node ID in a name. */
const shortIdCharacters = 8

export const shortIdOf = (nodeId: string): string => nodeId.slice(0, shortIdCharacters)

/**
 * Names of devices that join: text with `{serial}` and `{nodeId}`, without other braces and without characters that control how the text
 * is shown.
 */
export const joinNamePattern = /^(?:[^\p{C}\p{Zl}\p{Zp}{}]|\{serial\}|\{nodeId\}){0,60}$/u

/**
 * The name of a device by a template. Where the device states no usable serial number, the short node ID is in its place.
 *
 * @returns "" for an empty template; at most 60 characters
 */
export function joinName(template: string, nodeId: string, serial: string): string {
  const short = shortIdOf(nodeId)
  return template
    .replaceAll(/\{(serial|nodeId)\}/g, (_, what) =>
      what === 'serial' ? plainSerial(serial) || short : short,
    )
    .slice(0, joinLimits.nameCharacters)
    .toWellFormed()
    .trim()
}
