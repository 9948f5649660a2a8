/** Signing keys as they are stored: private JWKs, encrypted, in one table for each algorithm. */
import { createPrivateKey, createPublicKey, generateKeyPair, hash, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { type AppIdAlgorithm, type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { thumbprint } from '@selvedge/service-kit/tokens'
import type { Seal } from '../../storage/secrets/seal.ts'

export type KeyState = 'next' | 'active' | 'retired'

export interface SigningKey {
  readonly kid: string
  readonly algorithm: AppIdAlgorithm
  readonly state: KeyState
  /** Unix milliseconds of the steady clock. */
  readonly since: number
  /** Public members alone. */
  readonly jwk: PublicJwk | RsaJwk
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** RFC 7518 § 6.3.1. */
interface RsaJwk {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
}

/**
 * Bits of an RSA key: the least that RFC 7518 § 3.3 allows. Its signatures are on ID tokens of an hour and it is replaced on a
 * schedule. A signature costs 0.33 ms of CPU time, and 0.81 ms with 3072 bits (measured on Node 24).
 */
const modulusLength = 2048

/** An algorithm of a row, and where its rows are. */
const keyTables = { ES256: 'signing_keys', RS256: 'rsa_signing_keys' } as const

/** What a signing key is encrypted for. */
export const purposeOf = (kid: string): string => `signing key ${kid}`

const generate = promisify(generateKeyPair)

/** RFC 7638. */
const kidOf = (jwk: PublicJwk | RsaJwk): string =>
  jwk.kty === 'EC'
    ? thumbprint(jwk)
    : hash('sha256', JSON.stringify({ e: jwk.e, kty: jwk.kty, n: jwk.n }), 'base64url')

const publicOf = (algorithm: AppIdAlgorithm, { n, e, ...jwk }: Partial<RsaJwk>): PublicJwk | RsaJwk =>
  algorithm === 'ES256' ? publicJwk.parse(jwk) : { kty: 'RSA', n: n!, e: e! }

/**
 * Makes a key in a thread: an RSA key costs 50 to 120 ms of CPU time (measured on Node 24).
 *
 * @param since Unix milliseconds
 * @returns stores it, unless another replica has stored one of this state
 */
export async function newKey(
  algorithm: AppIdAlgorithm,
  state: 'active' | 'next',
  { seal, since }: { readonly seal: Seal; readonly since: number },
): Promise<Statement> {
  const { privateKey } =
    algorithm === 'ES256'
      ? await generate('ec', { namedCurve: 'P-256' })
      : await generate('rsa', { modulusLength })
  const jwk = privateKey.export({ format: 'jwk' })
  const kid = kidOf(publicOf(algorithm, jwk as Partial<RsaJwk>))
  const sealed = seal.close(JSON.stringify(jwk), purposeOf(kid))
  return {
    sql: `INSERT INTO ${keyTables[algorithm]} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    values: [kid, sealed, state, since],
  }
}

/** All rows: keys of ES256 first, the newest of each first. */
export const allKeys: Statement = {
  sql: `SELECT kid, private_jwk, state, since, 'ES256' AS algorithm FROM ${keyTables.ES256}
    UNION ALL SELECT kid, private_jwk, state, since, 'RS256' AS algorithm FROM ${keyTables.RS256}
    ORDER BY algorithm, since DESC, state`,
  values: [],
}

/**
 * @param row of {@link allKeys}
 * @param known the same key, if it was decrypted before
 * @throws Error if it was encrypted with another key than this process has
 */
export function toKey(row: Row, known: SigningKey | undefined, seal: Seal): SigningKey {
  const kid = row.kid as string
  const algorithm = row.algorithm as AppIdAlgorithm
  const dated = { kid, algorithm, state: row.state as KeyState, since: row.since as number }
  if (known) return { ...known, ...dated }
  const privateJwk = JSON.parse(seal.open(row.private_jwk as string, purposeOf(kid)))
  const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
  return {
    ...dated,
    jwk: publicOf(algorithm, privateJwk),
    privateKey,
    publicKey: createPublicKey(privateKey),
  }
}

/**
 * next → active → retired, and a new next. Each step names the key that was seen: of two replicas that rotate at once, the second one
 * finds nothing to change.
 *
 * @param now Unix milliseconds
 * @param oldest keys that were retired before are removed
 */
export const rotation = (
  algorithm: AppIdAlgorithm,
  {
    active,
    next,
    now,
    oldest,
  }: { active: SigningKey; next: SigningKey | undefined; now: number; oldest: number },
): Statement[] => [
  {
    sql: `DELETE FROM ${keyTables[algorithm]} WHERE state = 'retired' AND since < ?`,
    values: [oldest],
  },
  {
    sql: `UPDATE ${keyTables[algorithm]} SET state = 'retired', since = ? WHERE kid = ? AND state = 'active'`,
    values: [now, active.kid],
  },
  {
    sql: `UPDATE ${keyTables[algorithm]} SET state = 'active', since = ? WHERE kid = ? AND state = 'next'`,
    values: [now, next?.kid ?? ''],
  },
]

/** Encrypts keys of a database from before secrets were encrypted. */
export async function sealPlainKeys(store: SqlStore, seal: Seal): Promise<void> {
  for (const { kid, private_jwk: text } of await store.run(sql`SELECT kid, private_jwk FROM signing_keys`)) {
    if (seal.isSealed(text as string)) continue
    const sealed = seal.close(text as string, purposeOf(kid as string))
    await store.run(sql`UPDATE signing_keys SET private_jwk = ${sealed} WHERE kid = ${kid!}`)
  }
}

/** A key set (RFC 7517), as JSON text. @param oldest keys that were retired before are left out */
export function publish(keys: Iterable<SigningKey>, oldest: number): string {
  const shown = [...keys].filter(({ state, since }) => state !== 'retired' || since >= oldest)
  return JSON.stringify({
    keys: shown.map(({ kid, jwk, algorithm }) => ({ ...jwk, kid, alg: algorithm, use: 'sig' })),
  })
}
