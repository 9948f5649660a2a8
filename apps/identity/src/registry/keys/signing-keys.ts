/**
 * The keys that tokens are signed with. One is active; the next one is published already, so that verifiers that are offline
 * know it before it is used. Retired keys stay published until the last token that others verify has expired.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import { isoTime, type SteadyClock } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createJwsSigner, type Issuer, thumbprint } from '@selvedge/service-kit/tokens'
import type { Changes } from '../../storage/changes/changes.ts'
import type { Seal } from '../../storage/secrets/seal.ts'

type State = 'next' | 'active' | 'retired'

interface SigningKey {
  readonly kid: string
  readonly state: State
  readonly since: number
  readonly jwk: PublicJwk
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export interface SigningKeys {
  /** A compact JWT by the active key. */
  sign(typ: string, claims: object): string
  /** The published set, as JSON text. */
  readonly jwks: string
  /** This service as an issuer that it trusts itself. */
  asIssuer(issuer: string): Issuer
  list(): { kid: string; state: State; since: string }[]
  /** next → active → retired, and a new next. Of replicas that do so at once, one does it. */
  rotate(): Promise<void>
  /** Rotates if the active key is older than the rotation interval. */
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
  await store.transaction([insert('active'), insert('next')])
  await sealPlainKeys()
  /** Signers of the active key, by type of token. */
  const signers = new Map<string, (claims: object) => string>()
  const opened = new Map<string, SigningKey>()
  const keys = await changes.copy<SigningKey>({
    topic: 'keys',
    readAll: load,
    onChange: () => signers.clear(),
  })
  findActive()

  /** All keys or an error: a key that this process can't decrypt makes the set stale, and the next poll tries again. */
  async function load(): Promise<Map<string, SigningKey>> {
    const rows = await store.run(
      sql`SELECT kid, private_jwk, state, since FROM signing_keys ORDER BY since DESC, state`,
    )
    const all = new Map(rows.map((row) => [row.kid as string, toKey(row)]))
    opened.clear()
    for (const [kid, key] of all) opened.set(kid, key)
    return all
  }

  function toKey(row: Row): SigningKey {
    const kid = row.kid as string
    const known = opened.get(kid)
    const dated = { kid, state: row.state as State, since: row.since as number }
    if (known) return { ...known, ...dated }
    const privateJwk = JSON.parse(seal.open(row.private_jwk as string, purposeOf(kid)))
    const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
    return { ...dated, jwk: publicJwk.parse(privateJwk), privateKey, publicKey: createPublicKey(privateKey) }
  }

  function insert(state: State): Statement {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = privateKey.export({ format: 'jwk' })
    const kid = thumbprint(jwk as PublicJwk)
    const sealed = seal.close(JSON.stringify(jwk), purposeOf(kid))
    return sql`INSERT INTO signing_keys VALUES (${kid}, ${sealed}, ${state}, ${clock.steady()}) ON CONFLICT DO NOTHING`
  }

  /** Keys of a database from before secrets were encrypted. */
  async function sealPlainKeys(): Promise<void> {
    for (const { kid, private_jwk: text } of await store.run(
      sql`SELECT kid, private_jwk FROM signing_keys`,
    )) {
      if (seal.isSealed(text as string)) continue
      const sealed = seal.close(text as string, purposeOf(kid as string))
      await store.run(sql`UPDATE signing_keys SET private_jwk = ${sealed} WHERE kid = ${kid!}`)
    }
  }

  function findActive(): SigningKey {
    const key = [...keys.all().values()].find((each) => each.state === 'active')
    if (!key) throw new Error('the database has no active signing key')
    return key
  }

  function publish(): string {
    const oldest = clock.steady() - Math.max(publishedSeconds, leasesSeconds()) * 1000
    const shown = [...keys.all().values()].filter(
      ({ state, since }) => state !== 'retired' || since >= oldest,
    )
    return JSON.stringify({ keys: shown.map(({ kid, jwk }) => ({ ...jwk, kid, alg: 'ES256', use: 'sig' })) })
  }

  async function rotate(): Promise<void> {
    const now = clock.steady()
    const active = findActive()
    const next = [...keys.all().values()].find((each) => each.state === 'next')
    // Each step names the key that was seen: of two replicas that rotate at once, the second one finds nothing to change.
    await changes.commit(
      [
        sql`DELETE FROM signing_keys WHERE state = 'retired' AND since < ${now - maxLifeSeconds * 1000}`,
        sql`UPDATE signing_keys SET state = 'retired', since = ${now} WHERE kid = ${active.kid} AND state = 'active'`,
        sql`UPDATE signing_keys SET state = 'active', since = ${now} WHERE kid = ${next?.kid ?? ''} AND state = 'next'`,
        insert('next'),
      ],
      [['keys', '']],
    )
  }

  return {
    sign(typ, claims) {
      const active = findActive()
      let signer = signers.get(typ)
      if (!signer) signers.set(typ, (signer = createJwsSigner({ typ, kid: active.kid }, active.privateKey)))
      return signer(claims)
    },
    get jwks() {
      return publish()
    },
    // A key ID never gets another key, so a known key stays valid even while the set may lack newer ones.
    asIssuer: (issuer) => ({
      issuer,
      findKey: (kid) => (keys.held().get(kid) ?? keys.get(kid))?.publicKey,
    }),
    list: () =>
      [...keys.all().values()].map(({ kid, state, since }) => ({ kid, state, since: isoTime(since) })),
    rotate,
    async rotateIfDue() {
      const isDue = (since: number) => clock.steady() - since >= rotateAfter * 1000
      if (rotateAfter > 0 && isDue(findActive().since)) await rotate()
    },
  }
}

/** What a signing key is encrypted for. */
export const purposeOf = (kid: string): string => `signing key ${kid}`
