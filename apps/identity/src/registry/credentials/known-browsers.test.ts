/** The browsers of a person: the twenty that were used last. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createKnownBrowsers, type KnownBrowsers } from './known-browsers.ts'

const clock = createFakeClock()
let store: SqlStore
let browsers: KnownBrowsers
beforeEach(async () => {
  store = openMemoryStore(migrations)
  browsers = createKnownBrowsers(store, clock)
  for (const id of ['ada', 'bob'])
    await store.run(
      sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${id}, ${id}, '', 0)`,
    )
})
afterEach(() => store.close())

it('a browser is known for the person who signed in with it', async () => {
  await browsers.remember('ada', 'key')
  expect(await browsers.has('ada', 'key')).toBe(true)
  expect(await browsers.has('ada', 'other')).toBe(false)
  expect(await browsers.has('bob', 'key')).toBe(false)
})

it('the one that was used longest ago is forgotten first', async () => {
  await browsers.remember('bob', 'key')
  for (let at = 0; at < 20; at++) {
    clock.advance(1)
    await browsers.remember('ada', `key${at}`)
  }
  clock.advance(1)
  await browsers.remember('ada', 'key0')
  clock.advance(1)
  expect(await browsers.has('ada', 'key1')).toBe(true)
  await browsers.remember('ada', 'new')
  expect(await browsers.has('ada', 'key1')).toBe(false)
  for (const known of ['key0', 'key2', 'new']) expect(await browsers.has('ada', known)).toBe(true)
  expect(await browsers.has('bob', 'key')).toBe(true)
})
