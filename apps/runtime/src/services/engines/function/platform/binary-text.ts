/** Bytes as text: base64 (RFC 4648 § 4) and hexadecimal digits. */

const digits = '0123456789abcdef'
const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Characters that are joined at a time: a text that grows by one character each time becomes a deep tree. */
const pieceBytes = 3 * 4096

/** Encodes pieces of whole groups, and joins them. */
function inPieces(bytes: Uint8Array, encodePiece: (from: number, to: number) => string): string {
  const pieces: string[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes)
    pieces[pieces.length] = encodePiece(at, Math.min(at + pieceBytes, bytes.length))
  return pieces.join('')
}

export const encodeHex = (bytes: Uint8Array): string =>
  inPieces(bytes, (from, to) => {
    let text = ''
    for (let at = from; at < to; at++) text += digits[bytes[at]! >> 4]! + digits[bytes[at]! & 15]!
    return text
  })

/** @throws TypeError */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> {
  if (text.length % 2 !== 0 || /[^0-9a-f]/i.test(text))
    throw new TypeError('invalid hex: pairs of 0-9, a-f are expected')
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16)
  return bytes
}

export const encodeBase64 = (bytes: Uint8Array): string =>
  inPieces(bytes, (from, to) => {
    let text = ''
    for (let at = from; at < to; at += 3) {
      const group = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
      text += base64Digits[group >> 18]! + base64Digits[(group >> 12) & 63]!
      text += at + 1 < to ? base64Digits[(group >> 6) & 63]! : '='
      text += at + 2 < to ? base64Digits[group & 63]! : '='
    }
    return text
  })

/** Reads over white space, as the engine does. @throws TypeError */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text)
    const bytes = new Uint8Array(binary.length)
    for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at)
    return bytes
  } catch (cause) {
    throw new TypeError('invalid base64', { cause })
  }
}
