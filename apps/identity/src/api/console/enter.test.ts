/** How a session begins: in which account, what ends with it, and what is recorded. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createKnownBrowsers, type KnownBrowsers } from '../../registry/credentials/known-browsers.ts'
import { type CompanySignIn, createSessions, type Sessions } from '../../registry/credentials/sessions.ts'
import { createPeople, type People, type Person, reachQuery } from '../../registry/people/people.ts'
import type { ConsoleContext, Viewer } from './context.ts'
import { createEnter } from './enter.ts'

const clock = createFakeClock()
const ada: Person = { personId: 'ada', email: 'ada@example.com', password: '' }
let opened: GrantStore
let people: People
let sessions: Sessions
let knownBrowsers: KnownBrowsers
beforeEach(async () => {
  opened = await openGrantStore(clock)
  const { store, revocations } = opened
  const changes = { commit: store.transaction }
  people = createPeople(store, changes, revocations, clock)
  sessions = createSessions(store, clock, changes, reachQuery)
  knownBrowsers = createKnownBrowsers(store, clock)
  for (const id of ['old', 'new', 'other'])
    await store.run(sql`INSERT INTO accounts (account_id, email, created_at) VALUES (${id}, ${id}, 0)`)
  for (const id of ['ada', 'bob'])
    await store.run(
      sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${id}, ${id}, '', 0)`,
    )
  await store.transaction([
    sql`INSERT INTO members VALUES ('old', 'ada', 'member', 1)`,
    sql`INSERT INTO members VALUES ('new', 'ada', 'owner', 2)`,
    sql`INSERT INTO members VALUES ('new', 'bob', 'owner', 2)`,
  ])
})
afterEach(() => opened.close())

const contextOf = (viewer?: Viewer): ConsoleContext => ({
  ...{ requestId: 'r', viewer, jkt: 'key', address: '192.0.2.1', userAgent: 'Firefox' },
})
const enter = (context: ConsoleContext, accountId?: string, company?: CompanySignIn, method = 'passkey') =>
  createEnter({ people, sessions, audit: opened.audit, knownBrowsers })(
    ada,
    method,
    context,
    accountId,
    company,
  )
/** The account of the session that an entry began. */
async function accountOf(context: ConsoleContext): Promise<string | undefined> {
  return (await sessions.find(context.newSession!, context.jkt))?.session.accountId
}
/** Someone who is signed in at the same browser. */
async function viewerOf(personId: string, accountId: string): Promise<Viewer> {
  const secret = await sessions.create({
    ...{ personId, accountId, method: 'password', address: '', userAgent: '', jkt: 'key' },
  })
  const { session } = (await sessions.find(secret!, 'key'))!
  const membership = (await people.memberships(personId)).find((each) => each.accountId === accountId)!
  return { session, person: { ...ada, personId }, membership, memberships: [membership] }
}
const auditRows = () => opened.store.run(sql`SELECT * FROM audit`)

it('a session begins with the browser and the key of the request', async () => {
  const context = contextOf()
  expect(await enter(context)).toEqual({ done: true })
  expect(await sessions.list('ada')).toMatchObject([
    { method: 'passkey', address: '192.0.2.1', userAgent: 'Firefox', companyId: '' },
  ])
  expect(await sessions.find(context.newSession!, 'another key')).toMatchObject({ isProven: false })
  expect(await knownBrowsers.has('ada', 'key')).toBe(true)
})

it('it is in the audit log of its account', async () => {
  await enter(contextOf(), 'new')
  expect(await auditRows()).toMatchObject([
    {
      ...{ account_id: 'new', actor: 'ada@example.com', action: 'session.create', outcome: 'ok' },
      ...{ address: '192.0.2.1', detail: 'passkey' },
    },
  ])
})

describe('the account that it shows', () => {
  it.each<[string, string | undefined, [string, string] | undefined, string]>([
    ['is the one that was asked for', 'new', undefined, 'new'],
    ['is the oldest otherwise', undefined, undefined, 'old'],
    ['is the oldest if the person is not in the one that was asked for', 'other', undefined, 'old'],
    ['is the one before', undefined, ['ada', 'new'], 'new'],
    ['is the one that was asked for, and not the one before', 'old', ['ada', 'new'], 'old'],
    ['is not the one of another person before', undefined, ['bob', 'new'], 'old'],
  ])('%s', async (_, asked, before, expected) => {
    const context = contextOf(before && (await viewerOf(...before)))
    await enter(context, asked)
    expect(await accountOf(context)).toBe(expected)
  })
})

it.each(['ada', 'bob'])('the session before ends: %s', async (personId) => {
  const viewer = await viewerOf(personId, 'new')
  await enter(contextOf(viewer))
  expect(await sessions.stillThere(viewer.session.sessionId)).toBeUndefined()
  expect(await sessions.list('ada')).toHaveLength(1)
})

describe('a company', () => {
  const company = { companyId: 'corp', accountId: 'new', authTime: 7 }
  beforeEach(async () => {
    await opened.store.transaction([
      sql`INSERT INTO companies VALUES ('corp', 'new', 'corp.example', 'https://corp.example', 'x', 'client_secret', '', '[]', 1, 0, 0, NULL)`,
      sql`INSERT INTO company_people VALUES ('corp', 'subject', 'ada', 'new', '', 0, 0)`,
    ])
  })

  it('lets its person into its own account only', async () => {
    const context = contextOf()
    await enter(context, 'old', company, 'corp.example')
    expect(await accountOf(context)).toBe('new')
    expect(await sessions.list('ada')).toMatchObject([{ companyId: 'corp', authTime: 7 }])
  })

  it('has to be used for an account that it gave', async () => {
    const context = contextOf()
    await enter(context, 'new')
    expect(await accountOf(context)).toBe('old')
    await opened.store.run(sql`DELETE FROM members WHERE account_id = 'old'`)
    const viewer = await viewerOf('bob', 'new')
    await expect(enter(contextOf(viewer))).rejects.toMatchObject({
      reason: 'credentials_invalid',
      message: 'your account is for sign-ins with the company',
    })
    // What fails ends nothing.
    expect(await sessions.stillThere(viewer.session.sessionId)).toBeDefined()
  })
})

describe('a person in no account gets no session', () => {
  const refused = { reason: 'credentials_invalid', message: 'you are not a member of any account' }

  it('as it was before', async () => {
    await opened.store.run(sql`DELETE FROM members`)
    const context = contextOf()
    await expect(enter(context)).rejects.toMatchObject(refused)
    expect(context.newSession).toBeUndefined()
    expect(await auditRows()).toEqual([])
  })

  it('as it became at the same moment', async () => {
    const { create } = sessions
    sessions = {
      ...sessions,
      async create(session) {
        await opened.store.run(sql`DELETE FROM members`)
        return create(session)
      },
    }
    const context = contextOf()
    await expect(enter(context)).rejects.toMatchObject(refused)
    expect(context.newSession).toBeUndefined()
    expect(await knownBrowsers.has('ada', 'key')).toBe(false)
    expect(await auditRows()).toEqual([])
  })
})
