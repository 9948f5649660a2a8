/** Keys and times of the targets: the same in every run, so that an input means the same in every run. */
import { createECDH, createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { publicJwk } from '@selvedge/protocol/tokens'

/** Milliseconds of the targets' clock. */
export const now = Date.parse('2026-01-01T00:00:00Z')
export const clock = { now: () => now }

/** A P-256 key that follows from its name. */
export function keyOf(name: string) {
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(createHash('sha256').update(`fuzz ${name}`).digest())
  const point = ecdh.getPublicKey()
  const jwk = publicJwk.parse({
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  })
  const d = ecdh.getPrivateKey().toString('base64url')
  return {
    jwk,
    privateKey: createPrivateKey({ key: { ...jwk, d }, format: 'jwk' }),
    publicKey: createPublicKey({ key: { ...jwk }, format: 'jwk' }),
  }
}
