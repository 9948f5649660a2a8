/** Bytes under a key that both sides have. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Derives 32 bytes of a secret for one purpose (HKDF, RFC 5869). */
export const deriveKey = (secret: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'selvedge', purpose, 32))

/** AES-256-GCM under a fresh nonce. @param associated what must be the same where it is opened */
export function sealBytes(key: Uint8Array, plain: Uint8Array, associated = ''): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** What was sealed; undefined where it was sealed with another key or was changed. */
export function openBytes(key: Uint8Array, sealed: Uint8Array, associated = ''): Buffer | undefined {
  if (sealed.length < 28) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(associated)).setAuthTag(sealed.subarray(-16))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
  } catch {
    return undefined
  }
}
