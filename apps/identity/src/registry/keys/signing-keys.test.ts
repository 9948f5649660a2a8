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
