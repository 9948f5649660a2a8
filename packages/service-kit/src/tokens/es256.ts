/**
 * ECDSA with P-256 and SHA-256 (RFC 7518 § 3.4) on bare `KeyObject`s. Asking OpenSSL for the P1363 form costs 20 µs a call on
 * Node 24 (measured), so the DER form is converted here.
 */
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { type PublicJwk, thumbprintInput } from '@selvedge/protocol/tokens'

/** Signs text; the signature is `r ‖ s`, 64 bytes. */
export function signEs256(key: KeyObject, text: string): Buffer {
  const der = sign('sha256', Buffer.from(text), key)
  const p1363 = Buffer.alloc(64)
  const sAt = 4 + der[3]!
  copyInteger(der.subarray(4, sAt), p1363, 32)
  copyInteger(der.subarray(sAt + 2), p1363, 64)
  return p1363
}

/** Copies a DER integer, right aligned, without the zero that keeps it positive. */
function copyInteger(integer: Buffer, to: Buffer, end: number): void {
  const bytes = integer.subarray(-32)
  bytes.copy(to, end - bytes.length)
}

/** Whether `signature` (64 bytes, `r ‖ s`) is one of `text` by `key`. */
export function verifyEs256(key: KeyObject, text: string | Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== 64) return false
  return verify('sha256', Buffer.from(text), key, toDer(signature))
}

/** `SEQUENCE { INTEGER r, INTEGER s }`, written in one go: two verifications an exchange, each with one of these. */
function toDer(signature: Uint8Array): Buffer {
  const der = Buffer.allocUnsafe(72)
  const middle = writeInteger(der, 2, signature, 0)
  const end = writeInteger(der, middle, signature, 32)
  der[0] = 0x30
  der[1] = end - 2
  return der.subarray(0, end)
}

/** Writes 32 bytes as a DER integer: without leading zeros, but for the one that keeps it positive. Gives where it ends. */
function writeInteger(der: Buffer, at: number, bytes: Uint8Array, from: number): number {
  const end = from + 32
  let start = from
  while (start < end - 1 && bytes[start] === 0) start++
  let to = at + 2
  if (bytes[start]! >= 0x80) der[to++] = 0
  while (start < end) der[to++] = bytes[start++]!
  der[at] = 0x02
  der[at + 1] = to - at - 2
  return to
}

/** @throws when the point is not on the curve */
export const importPublicKey = (jwk: PublicJwk): KeyObject =>
  createPublicKey({ key: { ...jwk }, format: 'jwk' })

/** RFC 7638 with SHA-256, in base64url. */
export const thumbprint = (jwk: PublicJwk): string => hash('sha256', thumbprintInput(jwk), 'base64url')

/** The node ID that belongs to a key: lower-case hexadecimal SHA-224 of its thumbprint input, 56 characters. */
export const nodeIdOf = (jwk: PublicJwk): string => hash('sha224', thumbprintInput(jwk), 'hex')
