/** The keys that may sign a release. Each release contains those for the next one: `release-keys.json`. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { parseObject, readBase64 } from './envelope.ts'

interface ReleaseKey {
  readonly key: KeyObject
  /** Unix seconds: what it signed is refused from then on. */
  readonly expiresAt: number
}

export interface ReleaseKeys {
  /** How many different keys have to have signed. */
  readonly threshold: number
  readonly keys: readonly ReleaseKey[]
}

const maxKeys = 16
const publicKeyBytes = 32

/**
 * @param text `{"threshold": 1, "keys": [{"publicKey": <32 bytes in base64>, "expires": "2030-01-31"}]}`; other members are comments
 * @throws Error with a sentence if it is anything else, if a key is there twice, or if the keys cannot reach the threshold
 */
export function readReleaseKeys(text: string): ReleaseKeys {
  const { threshold, keys } = parseObject(text)
  if (!Number.isInteger(threshold) || (threshold as number) < 1)
    throw new Error('threshold is not a whole number from 1')
  if (!Array.isArray(keys) || keys.length > maxKeys)
    throw new Error(`keys is not a list of at most ${maxKeys} keys`)
  const read = keys.map(readKey)
  if (new Set(keys.map(({ publicKey }) => publicKey)).size < keys.length)
    throw new Error('a key is there twice')
  if (read.length > 0 && read.length < (threshold as number))
    throw new Error(`${read.length} keys cannot reach the threshold of ${threshold}`)
  return { threshold: threshold as number, keys: read }
}

function readKey(entry: unknown): ReleaseKey {
  const { publicKey, expires } = (entry ?? {}) as Record<string, unknown>
  const raw = readBase64(publicKey, 'publicKey')
  if (raw.length !== publicKeyBytes) throw new Error('publicKey is not an Ed25519 key of 32 bytes')
  if (typeof expires !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(expires) || Number.isNaN(Date.parse(expires)))
    throw new Error(`expires is ${JSON.stringify(expires)}; expected a day, such as 2030-01-31`)
  return { key: publicKeyOf(raw), expiresAt: Date.parse(expires) / 1000 }
}

/** @param raw the 32 bytes of RFC 8032 § 5.1.5 */
const publicKeyOf = (raw: Buffer): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
    format: 'jwk',
  })

export const rawPublicKey = (key: KeyObject): Buffer =>
  Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url')
