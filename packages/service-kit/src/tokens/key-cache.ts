import type { KeyObject } from 'node:crypto'
import { type PublicJwk, readJwks } from '@selvedge/protocol/tokens'
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

/** The usable keys of a published set, by `kid`. @throws Error if it is no key set */
export function readKeySet(json: unknown): Map<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const [kid, jwk] of readJwks(json)) {
    try {
      keys.set(kid, importPublicKey(jwk))
    } catch {
      // Not a point of the curve.
    }
  }
  return keys
}
