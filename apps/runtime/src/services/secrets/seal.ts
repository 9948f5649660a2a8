/** Encrypts one secret for the disk: AES-256-GCM (NIST SP 800-38D) with a random nonce for each value. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/**
 * @param name of the secret with its owner: a value that is moved to another name does not open
 * @returns nonce, ciphertext and tag, in base64url
 */
export function sealValue(key: Buffer, name: string, value: Buffer): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(name))
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  )
}

/**
 * A keyed hash of a value: HMAC-SHA-256 (RFC 2104), with a key of its own that HKDF (RFC 5869) derives.
 *
 * @param name of the secret with its owner: the same value has another hash under another name
 */
export function versionOf(key: Buffer, name: string, value: Buffer): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'selvedge versions of secrets', 32))
  return createHmac('sha256', own)
    .update(`${Buffer.byteLength(name)} ${name} `)
    .update(value)
    .digest('hex')
}

/** @returns undefined for a value of another key or name, or a damaged one */
export function openValue(key: Buffer, name: string, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < nonceBytes + tagBytes) return undefined
  try {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    }).setAAD(Buffer.from(name))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    const value = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
    return Buffer.concat([value, decipher.final()])
  } catch {
    return undefined
  }
}
