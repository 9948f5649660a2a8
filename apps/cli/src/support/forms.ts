/** A secret as it is, and as programs often write it. Longest first. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const inJson = JSON.stringify(secret).slice(1, -1)
  const hex = bytes.toString('hex')
  const base64 = bytes.toString('base64')
  const forms = [
    secret,
    inJson,
    encodeURIComponent(secret),
    hex,
    hex.toUpperCase(),
    base64,
    base64.split('=')[0]!,
    bytes.toString('base64url'),
    ...[0, 1, 2].flatMap((offset) => insideBase64(bytes, offset)),
  ]
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length)
}

/** In base64 of a longer text, such as `user:password`: the characters that hold only bits of the secret (RFC 4648 § 4). */
function insideBase64(bytes: Buffer, offset: number): string[] {
  const all = Buffer.concat([Buffer.alloc(offset), bytes])
  const part = (name: 'base64' | 'base64url') =>
    all.toString(name).slice(Math.ceil((offset * 8) / 6), Math.floor((all.length * 8) / 6))
  return bytes.length < 6 ? [] : [part('base64'), part('base64url')]
}
