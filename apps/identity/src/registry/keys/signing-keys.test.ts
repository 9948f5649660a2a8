/** Signing keys over their life: by the clock, by hand, and by several replicas at once. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SteadyClock } from '@selvedge/service-kit/clock'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { openSigningKeys } from './signing-keys.ts'

const day = 86_400_000
let folder: string
let store: SqlStore
const fake = createFakeClock()
const clock = fake
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'keys-'))
  store = await openSql(`sqlite:${join(folder, 'keys.db')}`, migrations)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})
const open = async (rotateAfter = 30 * 86_400, clock: SteadyClock = fake) => {
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 5000 })
  const seal = createSeal([Buffer.alloc(32, 9)])
  return openSigningKeys({
    store,
    clock,
    changes,
    seal,
    maxLifeSeconds: 366 * 86_400,
    publishedSeconds: 2 * 86_400,
    rotateAfter,
  })
}
const published = (jwks: string) => (JSON.parse(jwks).keys as { kid: string }[]).map(({ kid }) => kid)

it('the key that signs next was published before, and the one that signed last is for as long as its tokens live', async () => {
  const keys = await open()
  const [before] = [published(keys.jwks)]
  expect(before).toHaveLength(2)
  const next = keys.list().find(({ state }) => state === 'next')!.kid
  await keys.rotateIfDue()
  expect(published(keys.jwks)).toEqual(before)
  clock.advance(30 * day)
  await keys.rotateIfDue()
  expect(keys.list().find(({ state }) => state === 'active')!.kid).toBe(next)
  expect(published(keys.jwks)).toHaveLength(3)
  clock.advance(3 * day)
  await keys.rotateIfDue()
  expect(published(keys.jwks)).toHaveLength(2)
  // Its developer ID tokens are still believed by the service itself.
  expect(keys.asIssuer('x').findKey(before![0]!)).toBeDefined()
})

it('a jump of the clock rotates nothing, withdraws nothing and stops no later rotation', async () => {
  let shift = 0
  const jumping = { now: () => fake.now() + shift, steady: fake.steady, past: fake.past }
  const keys = await open(30 * 86_400, jumping)
  const before = published(keys.jwks)
  for (const by of [day, 3650 * day, -day, -3650 * day]) {
    shift = by
    await keys.rotateIfDue()
    await keys.rotate()
    expect(published(keys.jwks)).toEqual(expect.arrayContaining(before))
  }
  shift = 0
  const active = () => keys.list().find(({ state }) => state === 'active')!.kid
  const last = active()
  await keys.rotateIfDue()
  expect(active()).toBe(last)
  clock.advance(30 * day)
  await keys.rotateIfDue()
  expect(active()).not.toBe(last)
})

it('a schedule of 0 leaves it to the operator', async () => {
  const keys = await open(0)
  clock.advance(400 * day)
  await keys.rotateIfDue()
  expect(keys.list().map(({ state }) => state)).toEqual(['active', 'next'])
})

it('of replicas that rotate at once one does', async () => {
  const replicas = await Promise.all([open(), open(), open()])
  clock.advance(30 * day)
  await Promise.all(replicas.map((each) => each.rotateIfDue()))
  const again = await open()
  expect(
    again
      .list()
      .map(({ state }) => state)
      .sort(),
  ).toEqual(['active', 'next', 'retired'])
})

it('stand in the store encrypted, also those from before secrets were', async () => {
  const keys = await open()
  const rows = await store.run(sql`SELECT private_jwk FROM signing_keys`)
  expect(rows.every(({ private_jwk }) => /^v1\.[\w-]+$/.test(private_jwk as string))).toBe(true)
  const [kid] = published(keys.jwks)
  const plain = JSON.stringify({ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'secret' })
  await store.run(sql`UPDATE signing_keys SET private_jwk = ${plain} WHERE kid = ${kid!}`)
  await open().catch(() => undefined)
  const [row] = await store.run(sql`SELECT private_jwk FROM signing_keys WHERE kid = ${kid!}`)
  expect(row!.private_jwk).toMatch(/^v1\./)
})

const decode = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())

it('a token has its type and the ID of the active key, by which this service finds the key', async () => {
  const keys = await open()
  const { kid } = keys.list().find(({ state }) => state === 'active')!
  for (const typ of ['at+jwt', 'JWT', 'at+jwt'])
    expect(decode(keys.sign(typ, { iat: 1 }))).toEqual({ typ, kid, alg: 'ES256' })
  const issuer = keys.asIssuer('https://identity.example')
  expect(issuer.issuer).toBe('https://identity.example')
  expect(issuer.findKey(kid)).toBeDefined()
  expect(issuer.findKey(kid, 'ES256')).toBe(issuer.findKey(kid))
  expect(issuer.findKey(kid, 'RS256')).toBeUndefined()
  expect(issuer.findKey('unknown')).toBeUndefined()
  await keys.rotate()
  expect(decode(keys.sign('at+jwt', {})).kid).toBe(keys.list().find(({ state }) => state === 'active')!.kid)
  expect(decode(keys.sign('at+jwt', {})).kid).not.toBe(kid)
})

it('an ID token for an app is signed with the algorithm of the app, once its keys were prepared', async () => {
  const keys = await open()
  const claims = { iss: 'x' } as never
  expect(decode(keys.signAppId(claims, 'ES256'))).toMatchObject({ alg: 'ES256', typ: 'app-id+jwt' })
  await keys.prepare('ES256')
  expect(() => keys.signAppId(claims, 'RS256')).toThrow('the database has no active signing key for RS256')
  await Promise.all([keys.prepare('RS256'), keys.prepare('RS256')])
  await keys.prepare('RS256')
  const made = keys.list().filter(({ alg }) => alg === 'RS256')
  expect(made.map(({ state }) => state).toSorted()).toEqual(['active', 'next'])
  expect(made[0]!.since).toBe(new Date(clock.steady()).toISOString())
  expect(decode(keys.signAppId(claims, 'RS256'))).toMatchObject({ alg: 'RS256', typ: 'app-id+jwt' })
})

it('a retired key is published for as long as leases live, and stored until its last token has expired', async () => {
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  let leasesSeconds = 0
  const keys = await openSigningKeys({
    ...{ store, clock, changes, seal: createSeal([Buffer.alloc(32, 9)]), rotateAfter: 86_400 },
    ...{ maxLifeSeconds: 10 * 86_400, publishedSeconds: 2 * 86_400, leasesSeconds: () => leasesSeconds },
  })
  await keys.rotate()
  clock.advance(2 * day)
  expect(published(keys.jwks)).toHaveLength(3)
  clock.advance(1)
  expect(published(keys.jwks)).toHaveLength(2)
  leasesSeconds = 3 * 86_400
  expect(published(keys.jwks)).toHaveLength(3)
  clock.advance(8 * day - 1)
  await keys.rotate()
  expect(keys.list()).toHaveLength(4)
  clock.advance(1)
  await keys.rotate()
  expect(keys.list().filter(({ state }) => state === 'retired')).toHaveLength(2)
  await changes.stop()
})

it('what makes no key is announced to no replica', async () => {
  const changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  const announced: unknown[] = []
  const commit: typeof changes.commit = (statements, subjects) => {
    announced.push(subjects)
    return changes.commit(statements, subjects)
  }
  const keys = await openSigningKeys({
    ...{ store, clock, changes: { ...changes, commit }, seal: createSeal([Buffer.alloc(32, 9)]) },
    ...{ maxLifeSeconds: 10 * 86_400, publishedSeconds: 2 * 86_400, rotateAfter: 86_400 },
  })
  await keys.rotateIfDue()
  expect(announced).toEqual([])
  for (let time = 0; time < 2; time++) await keys.prepare('RS256')
  await keys.rotate()
  expect(announced).toEqual([[['keys', '']], [['keys', '']]])
  await changes.stop()
})
