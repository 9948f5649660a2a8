/** When a session of a person ends by itself, in every place that reads sessions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrations } from '../schema.ts'
import { createSessions, type Sessions } from './sessions.ts'

const hour = 3_600_000
const clock = createFakeClock()
const start = clock.now()
let folder: string
let store: SqlStore
let sessions: Sessions
beforeEach(async () => {
  clock.set(start)
  folder = mkdtempSync(join(tmpdir(), 'sessions-'))
  store = await openSql(`sqlite:${join(folder, 'identity.db')}`, migrations)
  sessions = createSessions(store, clock, { commit: async (statements) => store.transaction(statements) })
  for (const id of ['a', 'b'])
    await store.run(sql`INSERT INTO accounts (account_id, email, created_at) VALUES (${id}, ${id}, 0)`)
  await store.run(sql`INSERT INTO people VALUES ('ada', 'ada@example.com', '', 0)`)
  await store.run(sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
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
    await sessions.find(session.secret, 'another key')
    await sessions.list('ada')
  }
  clock.advance(hour)
  expect(await sessions.find(session.secret, 'k')).toBeUndefined()
})

it('a session begins and moves only in an account of its person', async () => {
  const method = 'password'
  const request = { personId: 'ada', accountId: 'b', method, address: '', userAgent: '', jkt: 'k' }
  expect(await sessions.create(request)).toBeUndefined()
  const { sessionId } = await signIn()
  expect(await sessions.switchTo(sessionId, 'b')).toBe(false)
  expect((await sessions.stillThere(sessionId))?.accountId).toBe('a')
  await store.run(sql`INSERT INTO members VALUES ('b', 'ada', 'member', 0)`)
  expect(await sessions.switchTo(sessionId, 'b')).toBe(true)
})

it('only the person of a session can end it', async () => {
  const { sessionId } = await signIn()
  expect(await sessions.end('bob', sessionId)).toBe(false)
  expect(await sessions.list('ada')).toHaveLength(1)
  expect(await sessions.end('ada', sessionId)).toBe(true)
  expect(await sessions.list('ada')).toEqual([])
})
