/** When a session of a person ends by itself, in every place that reads sessions. */
import { createHash } from 'node:crypto'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Changes } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { reachQuery } from '../people/people.ts'
import { cookieSeconds, createSessions, type Sessions, sessionTimes } from './sessions.ts'

const hour = 3_600_000
const clock = createFakeClock()
const start = clock.now()
let store: SqlStore
let sessions: Sessions
/** What other replicas were notified of. */
let noted: unknown[]
beforeEach(async () => {
  clock.set(start)
  store = openMemoryStore(migrations)
  noted = []
  const commit: Changes['commit'] = async (statements, changed) => {
    noted.push(...changed)
    return store.transaction(statements)
  }
  sessions = createSessions(store, clock, { commit }, reachQuery)
  for (const id of ['a', 'b'])
    await store.run(sql`INSERT INTO accounts (account_id, email, created_at) VALUES (${id}, ${id}, 0)`)
  await store.run(sql`INSERT INTO people VALUES ('ada', 'ada@example.com', '', 0)`)
  await store.run(sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`)
})
afterEach(async () => {
  await store.close()
})

async function signIn() {
  const method = 'password'
  const secret = await sessions.create({
    personId: 'ada',
    accountId: 'a',
    method,
    address: '',
    userAgent: '',
    jkt: 'k',
  })
  const [{ sessionId } = { sessionId: '' }] = await sessions.list('ada')
  return { secret: secret!, sessionId }
}

/** How each place sees a session. A use of a session prolongs it. */
const places: Readonly<Record<string, (session: { secret: string; sessionId: string }) => Promise<boolean>>> =
  {
    'by its cookie and key': async ({ secret }) => (await sessions.find(secret, 'k'))?.isProven ?? false,
    'by its cookie alone': async ({ secret }) => (await sessions.find(secret, undefined)) !== undefined,
    'by an event stream that is open': async ({ sessionId }) =>
      (await sessions.stillThere(sessionId)) !== undefined,
    'in the list of sessions': async () => (await sessions.list('ada')).length === 1,
  }

describe.each(Object.entries(places))('a session, seen %s', (_, isSeen) => {
  it('ends after a day in which it was not used', async () => {
    const session = await signIn()
    clock.advance(24 * hour - 1)
    expect(await isSeen(session)).toBe(true)
    // If that was a use of the session, its day begins then.
    clock.advance(24 * hour)
    expect(await isSeen(session)).toBe(false)
  })

  it('ends after seven days, however often it is used', async () => {
    const session = await signIn()
    for (let at = 0; at < 14; at++) {
      clock.set(start + at * 12 * hour)
      expect((await sessions.find(session.secret, 'k'))?.isProven).toBe(true)
    }
    clock.set(start + 7 * 24 * hour - 1)
    expect(await isSeen(session)).toBe(true)
    clock.set(start + 7 * 24 * hour)
    expect(await isSeen(session)).toBe(false)
  })
})

it('a session is not prolonged by its cookie alone, nor by the list of sessions', async () => {
  const session = await signIn()
  for (let at = 0; at < 23; at++) {
    clock.advance(hour)
    expect(await sessions.find(session.secret, 'another key')).toMatchObject({
      session: { sessionId: session.sessionId, personId: 'ada', accountId: 'a' },
      isProven: false,
    })
    await sessions.list('ada')
  }
  clock.advance(hour)
  expect(await sessions.find(session.secret, 'k')).toBeUndefined()
})

it('a session is proven by its own key only', async () => {
  const { secret } = await signIn()
  const isProven = async (jkt: string | undefined) => (await sessions.find(secret, jkt))?.isProven
  expect(await isProven('k')).toBe(true)
  expect(await isProven('another key')).toBe(false)
  expect(await isProven(undefined)).toBe(false)
  expect(await sessions.find(`${secret}x`, 'k')).toBeUndefined()
})

describe('a session of a sign-in with a company', () => {
  const request = { personId: 'ada', accountId: 'a', method: 'x', address: '', userAgent: '', jkt: 'k' }
  const begin = (authTime = 5) =>
    sessions.create({ ...request, company: { companyId: 'acme', accountId: 'a', authTime } })

  it('has the company and the time of its provider', async () => {
    const secret = (await begin())!
    const found = await sessions.find(secret, 'k')
    expect(found?.session).toMatchObject({ companyId: 'acme', authTime: 5 })
    expect(await sessions.list('ada')).toMatchObject([{ method: 'company', companyId: 'acme', authTime: 5 }])
    await store.run(sql`DELETE FROM company_sessions`)
    expect((await sessions.find(secret, 'k'))?.session.companyId).toBeUndefined()
  })

  it('ends after twelve hours', async () => {
    const secret = (await begin())!
    clock.advance(12 * hour - 1)
    expect((await sessions.find(secret, 'k'))?.isProven).toBe(true)
    clock.advance(1)
    expect(await sessions.find(secret, 'k')).toBeUndefined()
  })
})

it('a session begins and moves only in an account of its person', async () => {
  const method = 'password'
  const request = { personId: 'ada', accountId: 'b', method, address: '', userAgent: '', jkt: 'k' }
  expect(await sessions.create(request)).toBeUndefined()
  const { sessionId } = await signIn()
  expect(await sessions.switchTo(sessionId, 'b')).toBe(false)
  expect((await sessions.stillThere(sessionId))?.session.accountId).toBe('a')
  await store.run(sql`INSERT INTO members VALUES ('b', 'ada', 'member', 0)`)
  expect(await sessions.switchTo(sessionId, 'b')).toBe(true)
})

it('a session is stored with the hash of its secret, and not the secret', async () => {
  const { secret } = await signIn()
  const hashed = createHash('sha256').update(secret).digest('base64url')
  expect(await store.run(sql`SELECT hash FROM sessions`)).toEqual([{ hash: hashed }])
})

it('a session is written as used once it was not for more than a minute', async () => {
  const { secret } = await signIn()
  const lastSeenAt = async () => (await sessions.list('ada'))[0]!.lastSeenAt
  clock.advance(60_000)
  await sessions.find(secret, 'k')
  expect(await lastSeenAt()).toBe('2026-01-01T00:00:00.000Z')
  clock.advance(1)
  await sessions.find(secret, 'k')
  expect(await lastSeenAt()).toBe('2026-01-01T00:01:00.001Z')
})

it('the list of sessions shows where each is used, with 200 characters of the name of the browser', async () => {
  const where = { method: 'passkey', address: '192.0.2.1', userAgent: 'x'.repeat(201), jkt: 'k' }
  await sessions.create({ personId: 'ada', accountId: 'a', ...where })
  expect(await sessions.list('ada')).toEqual([
    {
      sessionId: expect.stringMatching(/^[\da-f-]{36}$/),
      companyId: '',
      personId: 'ada',
      accountId: 'a',
      authTime: start,
      method: 'passkey',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastSeenAt: '2026-01-01T00:00:00.000Z',
      address: '192.0.2.1',
      userAgent: 'x'.repeat(200),
    },
  ])
})

it('the browser keeps the cookie for as long as a session lasts', () => {
  expect(cookieSeconds * 1000).toBe(sessionTimes.lifeMs)
})

it('only the person of a session can end it', async () => {
  const { sessionId } = await signIn()
  expect(await sessions.end('bob', sessionId)).toBe(false)
  expect(await sessions.list('ada')).toHaveLength(1)
  noted = []
  expect(await sessions.end('ada', sessionId)).toBe(true)
  expect(noted).toEqual([['person', 'ada']])
  expect(await sessions.list('ada')).toEqual([])
})
