/**
 * The keys that tokens are signed with. One is active; the next one is published already, so that verifiers that are offline
 * know it before it is used; retired ones stay published until the last token of theirs has ended.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type PublicJwk, publicJwk } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createJwsSigner, type Issuer, thumbprint } from '@selvedge/service-kit/tokens'

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
  /** next → active → retired, and a new next. */
  rotate(): Promise<void>
}

/** @param longestLife seconds for which a token may live, so how long a retired key is published */
export async function openSigningKeys(
  store: SqlStore,
  clock: Clock,
  longestLife: number,
): Promise<SigningKeys> {
  let keys = await load()
  if (keys.length === 0) {
    await store.transaction([insert('active'), insert('next')])
    keys = await load()
  }
  let active = findActive()
  let published = publish()
  /** Signers of the active key, by type of token. */
  const signers = new Map<string, (claims: object) => string>()

  async function load(): Promise<SigningKey[]> {
    const rows = await store.run(
      sql`SELECT kid, private_jwk, state, since FROM signing_keys ORDER BY since DESC, state`,
    )
    return rows.map((row) => {
      const privateJwk = JSON.parse(row.private_jwk as string)
      const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
      return {
        kid: row.kid as string,
        state: row.state as State,
        since: row.since as number,
        jwk: publicJwk.parse(privateJwk),
        privateKey,
        publicKey: createPublicKey(privateKey),
      }
    })
  }

  function insert(state: State) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = privateKey.export({ format: 'jwk' })
    const kid = thumbprint(jwk as PublicJwk)
    return sql`INSERT INTO signing_keys VALUES (${kid}, ${JSON.stringify(jwk)}, ${state}, ${clock.now()})`
  }

  function findActive(): SigningKey {
    const key = keys.find((each) => each.state === 'active')
    if (!key) throw new Error('the database has no active signing key')
    return key
  }

  function publish(): string {
    return JSON.stringify({ keys: keys.map(({ kid, jwk }) => ({ ...jwk, kid, alg: 'ES256', use: 'sig' })) })
  }

  return {
    sign(typ, claims) {
      let signer = signers.get(typ)
      if (!signer) signers.set(typ, (signer = createJwsSigner({ typ, kid: active.kid }, active.privateKey)))
      return signer(claims)
    },
    get jwks() {
      return published
    },
    asIssuer: (issuer) => ({ issuer, findKey: (kid) => keys.find((each) => each.kid === kid)?.publicKey }),
    list: () => keys.map(({ kid, state, since }) => ({ kid, state, since: isoTime(since) })),
    async rotate() {
      const now = clock.now()
      await store.transaction([
        sql`DELETE FROM signing_keys WHERE state = 'retired' AND since < ${now - longestLife * 1000}`,
        sql`UPDATE signing_keys SET state = 'retired', since = ${now} WHERE state = 'active'`,
        sql`UPDATE signing_keys SET state = 'active', since = ${now} WHERE state = 'next'`,
        insert('next'),
      ])
      keys = await load()
      active = findActive()
      published = publish()
      signers.clear()
    },
  }
}
