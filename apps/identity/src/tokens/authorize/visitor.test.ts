/** What the person at the browser may approve, and for which account the app would act. */
import { sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { projectOf } from '../../../../../tests/harness/grants.ts'
import { type AppConsents, createAppConsents } from '../../registry/sign-ins/app-consents.ts'
import { migrations } from '../../storage/schema.ts'
import type { AuthorizationRequest } from './request.ts'
import { consentSubject, createReadStanding, type Visitor } from './visitor.ts'

const ada: Visitor = {
  person: { personId: 'ada', email: 'ada@example.com' },
  sessionId: 'session',
  authTime: 7,
  accountId: 'a',
  accountIds: ['a', 'b'],
  boundTo: undefined,
  described: 'Firefox',
}
const ownApp = projectOf({ appUsers: 'account', accountId: 'a' })
const publicApp = projectOf({ appUsers: 'anyone', accountId: 'vendor' })
const nodeOf = (accountId: string) => ({ node_id: 'node', sub: accountId })
type Change = Partial<Record<keyof AuthorizationRequest, unknown>>
const requestOf = (change: Change = {}) =>
  ({
    project: ownApp,
    scope: 'openid',
    node: undefined,
    expectedPersonId: undefined,
    ...change,
  }) as unknown as AuthorizationRequest

/** Each question about shares. */
let asked: unknown[]
/** The account that shares a service with the person; undefined: no account does. */
let sharedBy: string | undefined
let store: ReturnType<typeof openMemoryStore>
let appConsents: AppConsents
beforeEach(async () => {
  asked = []
  sharedBy = undefined
  store = openMemoryStore(migrations)
  appConsents = createAppConsents(store)
  await store.transaction([
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO sessions (session_id, hash, person_id, account_id, auth_time, method, created_at, last_seen_at, expires_at,
      address, user_agent) VALUES ('session', 'h', 'ada', 'a', 0, 'passkey', 0, 0, 0, '', '')`,
  ])
})
afterEach(() => store.close())

const readStanding = (request: Change = {}, visitor: Partial<Visitor> = {}) =>
  createReadStanding({
    appConsents,
    shares: {
      async usableBy(...question) {
        asked.push(question)
        return sharedBy === undefined ? undefined : { account_id: sharedBy, services: [] }
      },
    },
  })(requestOf(request), { ...ada, ...visitor })

it('a member of the account of the app can approve, and approved nothing yet', async () => {
  expect(await readStanding()).toStrictEqual({
    accountId: 'a',
    standing: { personId: 'ada', authTime: 7, obstacle: undefined, isRemembered: false },
  })
})

describe('an app acts for', () => {
  it.each<[string, Change, Partial<Visitor>, string]>([
    ['its own account, whatever the console shows', {}, { accountId: 'b' }, 'a'],
    ['no account for people of other accounts', {}, { accountIds: ['b'] }, ''],
    [
      'the account that the console shows, if it is for anyone',
      { project: publicApp },
      { accountId: 'b' },
      'b',
    ],
    ['no account that the session does not reach', { project: publicApp }, { accountId: 'x' }, ''],
  ])('%s', async (_, request, visitor, expected) => {
    expect((await readStanding(request, visitor)).accountId).toBe(expected)
  })
})

describe('an obstacle', () => {
  const otherAccount = 'The device belongs to another account.'
  const moreThanShared =
    /^The device belongs to another account, which shares services with you\. The app requests more/
  const companyOnly = /^Your company vouches for you in its own account only\./
  it.each<[string, Change, Partial<Visitor>, string | undefined, RegExp | string | undefined]>([
    ['no account', {}, { accountIds: [] }, undefined, /^The app is for people of its own account/],
    [
      'another person is expected',
      { expectedPersonId: 'bob' },
      {},
      undefined,
      /^The app expects another person\./,
    ],
    ['this person is expected', { expectedPersonId: 'ada' }, {}, undefined, undefined],
    ['a device of the account', { node: nodeOf('a'), scope: 'edge:mcm' }, {}, undefined, undefined],
    ['a device of no account', { node: nodeOf(''), scope: 'edge:mcm' }, {}, undefined, undefined],
    ['a device of another account', { node: nodeOf('x') }, {}, undefined, otherAccount],
    [
      'a device that its account shares',
      { node: nodeOf('x'), scope: 'openid offline_access' },
      {},
      'x',
      undefined,
    ],
    ['a device shared by an account that it has left', { node: nodeOf('y') }, {}, 'x', otherAccount],
    [
      'a shared device, with a scope of its owner',
      { node: nodeOf('x'), scope: 'openid edge:mcm' },
      {},
      'x',
      moreThanShared,
    ],
    ['a company that vouches in its account', {}, { boundTo: 'a' }, undefined, undefined],
    ['a company that vouches in another one', {}, { boundTo: 'b' }, undefined, companyOnly],
    [
      'a company, and an app of another account',
      { project: publicApp },
      { boundTo: 'a' },
      undefined,
      companyOnly,
    ],
    ['a company, and its device', { node: nodeOf('a') }, { boundTo: 'a' }, undefined, undefined],
    ['a company, and a device of no account', { node: nodeOf('') }, { boundTo: 'a' }, undefined, undefined],
    [
      'a company, and a device that another account shares',
      { node: nodeOf('x') },
      { boundTo: 'a' },
      'x',
      companyOnly,
    ],
  ])('%s', async (_, request, visitor, sharer, expected) => {
    sharedBy = sharer
    const { obstacle } = (await readStanding(request, visitor)).standing
    if (expected instanceof RegExp) expect(obstacle).toMatch(expected)
    else expect(obstacle).toBe(expected)
  })
})

it('shares are searched for the person, the device and the app, and only for a device of another account', async () => {
  await readStanding({ node: nodeOf('a') })
  await readStanding({ node: nodeOf('') })
  expect(asked).toEqual([])
  await readStanding({ node: nodeOf('x') })
  expect(asked).toEqual([['ada', { nodeId: 'node', clientId: 'c' }]])
})

describe('a stored approval', () => {
  const remember = async (accountId = 'a') => {
    const subject = consentSubject(requestOf(), ada, accountId)
    await store.transaction([appConsents.remember(subject, 'openid offline_access', sql`1 = 1`)])
  }

  it.each<[string, Change, Partial<Visitor>, boolean]>([
    ['counts for what was approved', { scope: 'openid offline_access' }, {}, true],
    ['counts for a part of it', {}, {}, true],
    ['does not count for more', { scope: 'openid edge:mcm' }, {}, false],
    ['does not count for another app', { project: { ...ownApp, clientId: 'other' } }, {}, false],
    ['does not count in another session', {}, { sessionId: 'other' }, false],
    ['does not count for another account', { project: publicApp }, { accountId: 'b' }, false],
    ['does not count for a device', { node: nodeOf('a') }, {}, false],
  ])('%s', async (_, request, visitor, expected) => {
    await remember()
    expect((await readStanding(request, visitor)).standing.isRemembered).toBe(expected)
  })

  it('does not count for a person who is in no account of the app', async () => {
    await remember('')
    expect((await readStanding({}, { accountIds: [] })).standing.isRemembered).toBe(false)
  })
})
