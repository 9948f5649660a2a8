/** Edge HMAC codes: how the secret comes to be, and how codes are made and checked. Reasons: docs/decisions/hmac-secret.md. */
import { createHash, createHmac, diffieHellman, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { formatHmacCode, parseHmacCode } from '@selvedge/protocol/tokens'

/**
 * The secret of a node, equal on both sides: ECDH of the node's agreement key and the cloud's, then HKDF (RFC 5869) with the
 * node in the context. It crosses no wire.
 */
export function agreeHmacSecret(privateKey: KeyObject, publicKey: KeyObject, nodeId: string): Buffer {
  const shared = diffieHellman({ privateKey, publicKey })
  return Buffer.from(hkdfSync('sha256', shared, 'selvedge', `node secret ${nodeId}`, 32))
}

/** A key for one purpose, from which neither the secret nor the key of another purpose can be had. */
const keyFor = (secret: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'selvedge', `purpose ${purpose}`, 32))

const mac = (secret: Uint8Array, text: string): Buffer =>
  createHmac('sha256', keyFor(secret, 'edge hmac code')).update(text).digest()

const tag = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')

export interface HmacSubject {
  /** The node that the code is for. */
  readonly nodeId: string
  readonly uri: string
}

/** @param expiry Unix seconds */
export function createHmacCode(
  secret: Uint8Array,
  issuer: string,
  expiry: number,
  { nodeId, uri }: HmacSubject,
): string {
  const parts = { issuer, expiry, target: tag(nodeId), uri: tag(uri) }
  return formatHmacCode(parts, (signed) => mac(secret, signed).toString('base64url'))
}

export type HmacVerdict =
  | { readonly valid: true; readonly expiresAt: string }
  | { readonly valid: false; readonly reason: 'invalid' | 'wrong_node' | 'wrong_uri' | 'expired' }

/** The node that a code claims to come from, or undefined if it is not a code. */
export const hmacIssuer = (code: string): string | undefined => parseHmacCode(code)?.issuer

/**
 * Checks a code with the secret of the node that made it. The seal comes first, in constant time: the content of a forged code is
 * never reported.
 *
 * @param now Unix seconds; a code is valid up to and including the second of its expiry
 */
export function verifyHmacCode(
  secret: Uint8Array,
  code: string,
  { nodeId, uri }: HmacSubject,
  now: number,
): HmacVerdict {
  const parts = parseHmacCode(code)
  if (!parts) return { valid: false, reason: 'invalid' }
  // Compared as text, since several texts have the same bytes. The form of a code has one length for it.
  const expected = Buffer.from(mac(secret, parts.signed).toString('base64url'))
  if (!timingSafeEqual(Buffer.from(parts.mac), expected)) return { valid: false, reason: 'invalid' }
  if (parts.target !== tag(nodeId)) return { valid: false, reason: 'wrong_node' }
  if (parts.uri !== tag(uri)) return { valid: false, reason: 'wrong_uri' }
  if (parts.expiry <= now) return { valid: false, reason: 'expired' }
  return { valid: true, expiresAt: new Date(Math.min(parts.expiry * 1000, 8.64e15)).toISOString() }
}
