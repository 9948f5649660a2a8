/** What a person approved for an app counts in the session of the approval, until the person revokes the app. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { type AppConsents, createAppConsents } from './app-consents.ts'

const subject = { sessionId: 'one', clientId: 'c', accountId: 'a' }
let store: SqlStore
let consents: AppConsents
beforeEach(async () => {
  store = openMemoryStore(migrations)
  consents = createAppConsents(store)
  const people = { one: 'ada', two: 'ada', three: 'bob' }
  for (const personId of ['ada', 'bob'])
    await store.run(
      sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${personId}, ${personId}, '', 0)`,
    )
  for (const [sessionId, personId] of Object.entries(people))
    await store.run(
      sql`INSERT INTO sessions (session_id, hash, person_id, account_id, auth_time, method, created_at, last_seen_at, expires_at,
        address, user_agent) VALUES (${sessionId}, ${sessionId}, ${personId}, 'a', 0, '', 0, 0, 0, '', '')`,
    )
})
afterEach(() => store.close())

const remember = (change: Partial<typeof subject> = {}, scope = 'openid edge:mcm', only = sql`1 = 1`) =>
  store.transaction([consents.remember({ ...subject, ...change }, scope, only)])

it.each<[string, Partial<typeof subject>, string, boolean]>([
  ['what was approved', {}, 'openid edge:mcm', true],
  ['a part of it, in any order', {}, 'edge:mcm', true],
  ['not for more', {}, 'openid offline_access', false],
  ['not for a part of a name', {}, 'edge', false],
  ['not in another session', { sessionId: 'two' }, 'openid', false],
  ['not for another app', { clientId: 'd' }, 'openid', false],
  ['not for another account', { accountId: 'b' }, 'openid', false],
])('counts for %s', async (_, change, scope, expected) => {
  await remember()
  expect(await consents.covers({ ...subject, ...change }, scope)).toBe(expected)
})

it('a later approval replaces the one before', async () => {
  await remember()
  await remember({}, 'openid')
  expect(await consents.covers(subject, 'edge:mcm')).toBe(false)
  expect(await consents.covers(subject, 'openid')).toBe(true)
})

it('is stored only under its condition, and only for a session that is there', async () => {
  await remember({}, 'openid', sql`1 = 0`)
  await remember({ sessionId: 'gone' })
  expect(await store.run(sql`SELECT * FROM app_consents`)).toEqual([])
})

it('that is revoked ends in all sessions of the person, for this app, and for no other person', async () => {
  for (const sessionId of ['one', 'two', 'three']) await remember({ sessionId })
  await remember({ clientId: 'd' })
  await consents.forget('ada', 'c')
  expect(await store.run(sql`SELECT session_id, client_id FROM app_consents ORDER BY session_id`)).toEqual([
    { session_id: 'one', client_id: 'd' },
    { session_id: 'three', client_id: 'c' },
  ])
})
