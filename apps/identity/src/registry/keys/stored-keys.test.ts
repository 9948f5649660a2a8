/** Signing keys as they are stored and published. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { calculateJwkThumbprint } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import {
  allKeys,
  newKey,
  publish,
  purposeOf,
  rotation,
  type SigningKey,
  sealPlainKeys,
  toKey,
} from './stored-keys.ts'

const seal = createSeal([Buffer.alloc(32, 9)])
let store: SqlStore
beforeAll(() => {
  store = openMemoryStore(migrations)
})
afterAll(() => store.close())

const read = async () => (await store.run(allKeys)).map((row) => toKey(row, undefined, seal))
const states = async () =>
  (await read()).map(({ algorithm, state, since }) => `${algorithm} ${state} ${since}`)

describe.each(['ES256', 'RS256'] as const)('a key for %s', (algorithm) => {
  let keys: SigningKey[]
  beforeAll(async () => {
    for (const [state, since] of [
      ['active', 10],
      ['next', 20],
      ['active', 30],
    ] as const)
      await store.run(await newKey(algorithm, state, { seal, since }))
    keys = (await read()).filter((each) => each.algorithm === algorithm)
  })

  it('is stored once for each state, the newest first', () => {
    expect(keys.map(({ state, since }) => `${state} ${since}`)).toEqual(['next 20', 'active 10'])
  })

  it('has the thumbprint of its public key as its ID, and shows no private member', async () => {
    for (const { kid, jwk, privateKey, publicKey } of keys) {
      expect(kid).toBe(await calculateJwkThumbprint(jwk as never))
      expect(createPublicKey(privateKey).equals(publicKey)).toBe(true)
      const members = algorithm === 'ES256' ? ['crv', 'kty', 'x', 'y'] : ['e', 'kty', 'n']
      expect(Object.keys(jwk).toSorted()).toEqual(members)
      expect(publicKey.asymmetricKeyDetails).toMatchObject(
        algorithm === 'ES256' ? { namedCurve: 'prime256v1' } : { modulusLength: 2048 },
      )
    }
  })

  it('is encrypted for its ID', async () => {
    const rows = (await store.run(allKeys)).filter((row) => row.algorithm === algorithm)
    const [one, other] = rows as [(typeof rows)[0], (typeof rows)[0]]
    expect(purposeOf('x')).toBe('signing key x')
    expect(JSON.parse(seal.open(one.private_jwk as string, `signing key ${one.kid}`))).toHaveProperty('d')
    expect(() => toKey({ ...one, kid: other.kid! }, undefined, seal)).toThrow()
    expect(() => toKey(one, undefined, createSeal([Buffer.alloc(32, 1)]))).toThrow()
  })

  it('is decrypted once, and its state is that of the row', async () => {
    const [row] = (await store.run(allKeys)).filter((each) => each.algorithm === algorithm)
    const known = keys[0]!
    const again = toKey(
      { ...row!, private_jwk: 'no text of a key', state: 'retired', since: 99 },
      known,
      seal,
    )
    expect(again).toEqual({ ...known, state: 'retired', since: 99 })
    expect(again.privateKey).toBe(known.privateKey)
  })

  it('is published with its algorithm; a retired one as long as it is young', () => {
    const all = [...keys, { ...keys[0]!, kid: 'retired', state: 'retired' as const, since: 15 }]
    const kids = (oldest: number) => JSON.parse(publish(all, oldest)).keys.map(({ kid }: SigningKey) => kid)
    expect(kids(15)).toEqual([keys[0]!.kid, keys[1]!.kid, 'retired'])
    expect(kids(16)).toEqual([keys[0]!.kid, keys[1]!.kid])
    const [shown] = JSON.parse(publish(keys, 0)).keys
    expect(shown).toEqual({ ...keys[0]!.jwk, kid: keys[0]!.kid, alg: algorithm, use: 'sig' })
  })

  it('moves on by a rotation that saw it, and not by one that saw another', async () => {
    const [next, active] = keys as [SigningKey, SigningKey]
    const shown = async () => (await states()).filter((each) => each.startsWith(algorithm))
    await store.transaction(rotation(algorithm, { active: next, next: active, now: 50, oldest: 0 }))
    await store.transaction(rotation(algorithm, { active: next, next: undefined, now: 50, oldest: 0 }))
    expect(await shown()).toEqual([`${algorithm} next 20`, `${algorithm} active 10`])
    await store.transaction(rotation(algorithm, { active, next, now: 50, oldest: 0 }))
    expect(await shown()).toEqual([`${algorithm} active 50`, `${algorithm} retired 50`])
    await store.transaction(rotation(algorithm, { active, next, now: 60, oldest: 50 }))
    expect(await shown()).toHaveLength(2)
    await store.transaction(rotation(algorithm, { active, next, now: 60, oldest: 51 }))
    expect(await shown()).toEqual([`${algorithm} active 50`])
  })
})

it('keys of a database without encryption are encrypted, and others stay as they are', async () => {
  const rows = () => store.run(sql`SELECT kid, private_jwk FROM signing_keys ORDER BY kid`)
  const [sealed] = await rows()
  const plain = seal.open(sealed!.private_jwk as string, purposeOf(sealed!.kid as string))
  await store.run(sql`INSERT INTO signing_keys VALUES ('old', ${plain}, 'retired', 0)`)
  await sealPlainKeys(store, seal)
  const after = Object.fromEntries((await rows()).map((row) => [row.kid, row.private_jwk as string]))
  expect(after[sealed!.kid as string]).toBe(sealed!.private_jwk)
  expect(seal.isSealed(after.old!)).toBe(true)
  expect(seal.open(after.old!, purposeOf('old'))).toBe(plain)
  expect(createPrivateKey({ key: JSON.parse(plain), format: 'jwk' }).type).toBe('private')
})
