/** Strict base64url (RFC 4648 § 5, RFC 7515 § 2): no padding, no white space, no bits left over. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const values = new Int8Array(128).fill(-1)
for (let at = 0; at < 64; at++) values[alphabet.charCodeAt(at)] = at

/** The bytes of `text`, or undefined where it is not the one spelling that its bytes have. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const length = text.length
  const rest = length % 4
  if (rest === 1) return undefined
  const bytes = new Uint8Array(Math.floor((length * 3) / 4))
  let bits = 0
  let held = 0
  let to = 0
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    const value = code < 128 ? values[code]! : -1
    if (value === -1) return undefined
    held = (held << 6) | value
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[to++] = held >>> bits
      held &= (1 << bits) - 1
    }
  }
  return held === 0 ? bytes : undefined
}

export function encodeBase64url(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 6) {
      bits -= 6
      text += alphabet[held >>> bits]
      held &= (1 << bits) - 1
    }
  }
  return bits === 0 ? text : text + alphabet[held << (6 - bits)]
}
