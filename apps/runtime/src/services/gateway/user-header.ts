/**
 * The header that names a person to a service: a dictionary of structured fields (RFC 9651) with `sub` (a string), `name` (a display
 * string, § 3.3.8: UTF-8, percent-encoded) and `groups` (an inner list of strings). No value can add a member or a line.
 */
import type { User } from './users.ts'

const encoder = new TextEncoder()

/** § 4.1.6. The claims of a token have no other characters. */
const stringOf = (text: string): string =>
  `"${text.replaceAll(/[^\x20-\x7e]/g, '').replaceAll(/["\\]/g, '\\$&')}"`

/** § 4.1.11. */
function displayStringOf(text: string): string {
  let encoded = ''
  for (const byte of encoder.encode(text)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25 && byte !== 0x22
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
  }
  return `%"${encoded}"`
}

export const userHeader = ({ sub, name, groups }: User): string =>
  `sub=${stringOf(sub)}, name=${displayStringOf(name)}, groups=(${groups.map(stringOf).join(' ')})`
