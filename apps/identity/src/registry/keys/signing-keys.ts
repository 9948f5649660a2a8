/**
 * The keys that tokens are signed with: ES256, and RS256 for the ID tokens of apps that want it. One of each is active; the next one is
 * published already, so that verifiers that are offline know it before it is used. Retired keys stay published until the last token that
 * others verify has expired.
 */
import {
  type AppIdAlgorithm,
  type AppIdClaims,
  appIdAlgorithms,
  appIdProfile,
} from '@selvedge/protocol/tokens'
import { isoTime, type SteadyClock } from '@selvedge/service-kit/clock'
import { shareRun } from '@selvedge/service-kit/share'
import type { SqlStore } from '@selvedge/service-kit/store'
import { createJwsSigner, type Issuer } from '@selvedge/service-kit/tokens'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Seal } from '../../storage/secrets/seal.ts'
import {
  allKeys,
  type KeyState,
  newKey,
  publish,
  rotation,
  type SigningKey,
  sealPlainKeys,
  toKey,
} from './stored-keys.ts'

export interface SigningKeys {
  /** A compact JWT by the active key, with ES256. */
  sign(typ: string, claims: object): string
  /** An ID token for an app. Nothing else is signed with RS256. @throws Error if no project wanted this algorithm before */
  signAppId(claims: AppIdClaims, algorithm: AppIdAlgorithm): string
  /** Makes the first keys of an algorithm, unless there are any: the same for all replicas. */
  prepare(algorithm: AppIdAlgorithm): Promise<void>
  /** The published set, as JSON text. */
  readonly jwks: string
  /** This service as an issuer that it trusts itself. */
  asIssuer(issuer: string): Issuer
  list(): { kid: string; alg: AppIdAlgorithm; state: KeyState; since: string }[]
  /** next → active → retired, and a new next, for each algorithm. Of replicas that do so at once, one does it. */
  rotate(): Promise<void>
  /** Rotates the algorithms with an active key that is older than the rotation interval. */
  rotateIfDue(): Promise<void>
}

export interface SigningKeysOptions {
  readonly store: SqlStore
  /** By its steady time, so that a jump neither rotates nor withdraws a key. */
  readonly clock: SteadyClock
  readonly changes: Changes
  readonly seal: Seal
  /** Maximum lifetime in seconds of tokens that only this service verifies: for so long a retired key is stored. */
  readonly maxLifeSeconds: number
  /** Maximum lifetime in seconds of tokens that others verify: for so long a retired key is published. */
  readonly publishedSeconds: number
  /** Seconds for which leases may live, if that is longer; absent: 0. */
  readonly leasesSeconds?: () => number
  /** Seconds for which a key signs; 0: until it is rotated by hand. */
  readonly rotateAfter: number
}

export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { store, clock, changes, seal, maxLifeSeconds, publishedSeconds, rotateAfter } = options
  const { leasesSeconds = () => 0 } = options
  // Replicas that start together each offer keys, and the first ones stay.
  await store.transaction(await firstKeys('ES256'))
  await sealPlainKeys(store, seal)
  /** Signers of the active keys, by type of token and algorithm. */
  const signers = new Map<string, (claims: object) => string>()
  const opened = new Map<string, SigningKey>()
  const keys = await changes.copy<SigningKey>({
    topic: 'keys',
    readAll: load,
    onChange: () => signers.clear(),
  })
  expectActive('ES256')

  /** All keys or an error: a key that this process can't decrypt makes the set stale, and the next poll tries again. */
  async function load(): Promise<Map<string, SigningKey>> {
    const rows = await store.run(allKeys)
    const all = new Map(
      rows.map((row) => [row.kid as string, toKey(row, opened.get(row.kid as string), seal)]),
    )
    opened.clear()
    for (const [kid, key] of all) opened.set(kid, key)
    return all
  }

  async function firstKeys(algorithm: AppIdAlgorithm) {
    const made = { seal, since: clock.steady() }
    return [await newKey(algorithm, 'active', made), await newKey(algorithm, 'next', made)]
  }

  function find(algorithm: AppIdAlgorithm, state: KeyState): SigningKey | undefined {
    return [...keys.all().values()].find((each) => each.algorithm === algorithm && each.state === state)
  }

  function expectActive(algorithm: AppIdAlgorithm): SigningKey {
    const key = find(algorithm, 'active')
    if (!key) throw new Error(`the database has no active signing key for ${algorithm}`)
    return key
  }

  /** @param isDue whether to rotate an algorithm with this active key */
  async function rotate(isDue: (active: SigningKey) => boolean): Promise<void> {
    const now = clock.steady()
    const oldest = now - maxLifeSeconds * 1000
    const statements = []
    for (const algorithm of appIdAlgorithms) {
      const active = find(algorithm, 'active')
      if (!active || !isDue(active)) continue
      const next = find(algorithm, 'next')
      const fresh = await newKey(algorithm, 'next', { seal, since: now })
      statements.push(...rotation(algorithm, { active, next, now, oldest }), fresh)
    }
    if (statements.length > 0) await changes.commit(statements, [['keys', '']])
  }

  /** Requests that come while an RSA key is made wait for it. */
  const prepareRsa = shareRun(async () => {
    if (!find('RS256', 'active')) await changes.commit(await firstKeys('RS256'), [['keys', '']])
  }, 'first RSA keys')

  function signerOf(typ: string, algorithm: AppIdAlgorithm): (claims: object) => string {
    const { kid, privateKey } = expectActive(algorithm)
    const name = `${algorithm} ${typ}`
    let signer = signers.get(name)
    if (!signer) signers.set(name, (signer = createJwsSigner({ typ, kid }, privateKey, algorithm)))
    return signer
  }

  return {
    sign: (typ, claims) => signerOf(typ, 'ES256')(claims),
    signAppId: (claims, algorithm) => signerOf(appIdProfile.typ, algorithm)(claims),
    prepare: async (algorithm) => (algorithm === 'RS256' ? prepareRsa() : undefined),
    get jwks() {
      const shownFor = Math.max(publishedSeconds, leasesSeconds())
      return publish(keys.all().values(), clock.steady() - shownFor * 1000)
    },
    // A key ID never gets another key, so a known key stays valid even while the set may lack newer ones.
    asIssuer: (issuer) => ({
      issuer,
      findKey(kid, algorithm = 'ES256') {
        const key = keys.held().get(kid) ?? keys.get(kid)
        return key?.algorithm === algorithm ? key.publicKey : undefined
      },
    }),
    list: () =>
      [...keys.all().values()].map(({ kid, algorithm, state, since }) => ({
        kid,
        alg: algorithm,
        state,
        since: isoTime(since),
      })),
    rotate: () => rotate(() => true),
    async rotateIfDue() {
      if (rotateAfter > 0) await rotate(({ since }) => clock.steady() - since >= rotateAfter * 1000)
    },
  }
}
