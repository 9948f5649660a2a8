/** A one-time secret gives its payload to one caller, for its purpose, before it expires. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createOneTime, type OneTime } from './one-time.ts'

const clock = createFakeClock()
let store: SqlStore
let oneTime: OneTime
beforeEach(() => {
  store = openMemoryStore(migrations)
  oneTime = createOneTime(store, clock)
})
afterEach(() => store.close())

const create = () => oneTime.create('passkey-sign-in', { expected: 'x' }, 60)
const use = (secret: string) => oneTime.use('passkey-sign-in', secret)

it('gives its payload once', async () => {
  const secret = await create()
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(await use(secret)).toEqual({ expected: 'x' })
  expect(await use(secret)).toBeUndefined()
})

it('gives nothing for another purpose, and stays', async () => {
  const secret = await create()
  expect(await oneTime.use('passkey-registration', secret)).toBeUndefined()
  expect(await use(secret)).toEqual({ expected: 'x' })
})

it('gives nothing for another secret', async () => {
  await create()
  expect(await use('x')).toBeUndefined()
})

it('expires', async () => {
  const [first, second] = [await create(), await create()]
  clock.advance(59_999)
  expect(await use(first)).toBeDefined()
  clock.advance(1)
  expect(await use(second)).toBeUndefined()
})

it('is stored with the hash of its secret, and not the secret', async () => {
  const secret = await create()
  expect(JSON.stringify(await store.run(sql`SELECT * FROM one_time`))).not.toContain(secret)
})
