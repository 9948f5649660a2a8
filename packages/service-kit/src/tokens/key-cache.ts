import type { KeyObject } from 'node:crypto'
import { jwkOfSet, jwks, type PublicJwk } from '@selvedge/protocol/tokens'
import { importPublicKey, thumbprint } from './es256.ts'
import { RecentMap } from './recent-map.ts'

/** Public keys by thumbprint: importing one costs 50 µs, which a device that calls often should pay once. */
export function createKeyCache(limit: number): (jwk: PublicJwk) => { key: KeyObject; jkt: string } {
  const known = new RecentMap<string, { key: KeyObject; jkt: string }>(limit)
  return (jwk) => {
    const jkt = thumbprint(jwk)
    let entry = known.get(jkt)
    if (!entry) known.set(jkt, (entry = { key: importPublicKey(jwk), jkt }))
    return entry
  }
}

/**
 * The usable keys of a published set, by `kid`. What is not a sound ES256 signing key is passed over (RFC 7517 § 5), and so
 * are keys that share an id: which of them is meant nobody can tell.
 */
export function readKeySet(json: unknown): Map<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  const seen = new Set<unknown>()
  for (const each of jwks.parse(json).keys) {
    const { kid } = each as { kid?: unknown }
    if (seen.has(kid)) keys.delete(kid as string)
    else readKey(each, keys)
    seen.add(kid)
  }
  return keys
}

function readKey(json: unknown, keys: Map<string, KeyObject>): void {
  const jwk = jwkOfSet.safeParse(json)
  if (!jwk.success) return
  try {
    keys.set(jwk.data.kid, importPublicKey(jwk.data))
  } catch {
    // Not a point of the curve.
  }
}
