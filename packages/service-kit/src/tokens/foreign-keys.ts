/**
 * The key set of an issuer that is not ours (RFC 7517): keys of four algorithms, within bounds. Verifying with a key costs what its
 * numbers make it cost, so they are limited; whatever is not usable is left out.
 */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { decodeBase64url, type SignatureAlgorithm } from '@selvedge/protocol/tokens'
import type { KeySet } from './remote-issuer.ts'

/** Bits of an RSA modulus (RFC 7518 § 3.3 wants 2048 at least), and keys of one set. */
const foreignKeyLimits = { minBits: 2048, maxBits: 4096, keys: 100 } as const

interface Usable {
  readonly key: KeyObject
  readonly algorithms: readonly SignatureAlgorithm[]
  /** The members that the key was made from, as JSON. */
  readonly made: string
}

type Jwk = Readonly<Record<string, unknown>>

const isJwk = (value: unknown): value is Jwk =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The usable keys of a published set, by `kid`. Keys without a `kid`, and those that share one, are left out.
 *
 * @param before the set until now: a key that did not change stays the same object, so that tokens that it verified stay verified
 * @throws Error if it is no key set, or has more than 100 keys
 */
export function readForeignKeySet(json: unknown, before?: ForeignKeySet): ForeignKeySet {
  const list: unknown = isJwk(json) ? json.keys : undefined
  if (!Array.isArray(list) || !list.every(isJwk)) throw new Error('the key set has no list of keys')
  if (list.length > foreignKeyLimits.keys)
    throw new Error(`the key set has ${list.length} keys; at most ${foreignKeyLimits.keys} are read`)
  const keys = new Map<string, Usable>()
  const seen = new Set<unknown>()
  for (const jwk of list) {
    const { kid } = jwk
    if (seen.has(kid)) keys.delete(kid as string)
    else if (typeof kid === 'string' && kid !== '') {
      const usable = readKey(jwk, before?.usable(kid))
      if (usable) keys.set(kid, usable)
    }
    seen.add(kid)
  }
  const find: KeySet = (kid, algorithm) => {
    const found = keys.get(kid)
    return found?.algorithms.includes(algorithm) ? found.key : undefined
  }
  return Object.assign(find, {
    size: keys.size,
    usable: (kid: string) => keys.get(kid),
    published: () => ({ keys: [...keys].map(([kid, usable]) => jwkOf(kid, usable)) }),
  })
}

export type ForeignKeySet = KeySet & {
  /** How many keys can be used. */
  readonly size: number
  usable(kid: string): Usable | undefined
  /** The usable keys as a key set, without members that are not needed, such as private ones. */
  published(): { readonly keys: readonly Jwk[] }
}

const jwkOf = (kid: string, { made, algorithms }: Usable): Jwk => ({
  ...JSON.parse(made),
  kid,
  // An RSA key without an algorithm is for two.
  ...(algorithms.length === 1 && { alg: algorithms[0] }),
})

function readKey(jwk: Jwk, before: Usable | undefined): Usable | undefined {
  if (!isForVerifying(jwk)) return undefined
  const shape = shapeOf(jwk)
  if (!shape) return undefined
  const algorithms = shape.algorithms.filter(
    (each) => jwk.alg === undefined || namesOf(each).includes(jwk.alg),
  )
  if (algorithms.length === 0) return undefined
  const made = JSON.stringify(shape.members)
  if (before?.made === made) return { ...before, algorithms }
  try {
    return {
      key: createPublicKey({ key: shape.members, format: 'jwk' } as JsonWebKeyInput),
      algorithms,
      made,
    }
  } catch {
    // Not a key, such as a point that is not on its curve.
    return undefined
  }
}

/** RFC 9864 calls EdDSA with this curve Ed25519. */
const namesOf = (algorithm: SignatureAlgorithm): readonly unknown[] =>
  algorithm === 'EdDSA' ? ['EdDSA', 'Ed25519'] : [algorithm]

function isForVerifying({ use = 'sig', key_ops: operations = ['verify'] }: Jwk): boolean {
  return use === 'sig' && Array.isArray(operations) && operations.includes('verify')
}

/** The public members of a key and the algorithms of its kind; undefined if it is of no such kind, or out of bounds. */
function shapeOf(
  jwk: Jwk,
): { algorithms: readonly SignatureAlgorithm[]; members: Readonly<Record<string, string>> } | undefined {
  const { kty, crv, x, y, n, e } = jwk
  const isCoordinate = (value: unknown): value is string =>
    typeof value === 'string' && decodeBase64url(value)?.length === 32
  if (kty === 'EC' && crv === 'P-256' && isCoordinate(x) && isCoordinate(y))
    return { algorithms: ['ES256'], members: { kty, crv, x, y } }
  if (kty === 'OKP' && crv === 'Ed25519' && isCoordinate(x))
    return { algorithms: ['EdDSA'], members: { kty, crv, x } }
  if (kty === 'RSA' && isModulus(n) && isExponent(e))
    return { algorithms: ['RS256', 'PS256'], members: { kty, n, e } }
  return undefined
}

function isModulus(value: unknown): value is string {
  // A longer text than that of the largest modulus is not decoded.
  if (typeof value !== 'string' || value.length > foreignKeyLimits.maxBits / 6 + 8) return false
  const bytes = decodeBase64url(value)
  const [first = 0] = bytes ?? []
  if (!bytes || first === 0 || bytes.at(-1)! % 2 === 0) return false
  const bits = bytes.length * 8 - Math.clz32(first) + 24
  return bits >= foreignKeyLimits.minBits && bits <= foreignKeyLimits.maxBits
}

/** Odd, from 65537 to 32 bits: smaller ones are refused by FIPS 186-5, larger ones only cost time. */
function isExponent(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 8) return false
  const bytes = decodeBase64url(value)
  if (!bytes || bytes.length === 0 || bytes.length > 4 || bytes[0] === 0) return false
  const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return number >= 65_537 && number % 2 === 1
}
