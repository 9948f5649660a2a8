/** An authorization request from its first view to its answer, on a database. */
import { OAuthError } from '@selvedge/protocol'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore, projectOf } from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { createAppConsents } from '../../registry/sign-ins/app-consents.ts'
import {
  type AuthorizationCodes,
  createAuthorizationCodes,
} from '../../registry/sign-ins/authorization-codes.ts'
import { createPushedRequests, type PushedRequests } from '../../registry/sign-ins/pushed-requests.ts'
import type { AuditEntry } from '../../storage/audit/audit.ts'
import { type Authorizations, createAuthorizations } from './authorizations.ts'
import { RefusedRequest } from './refused-request.ts'
import { createTickets } from './tickets.ts'
import type { Visitor } from './visitor.ts'

const clock = createFakeClock()
const issuer = 'https://identity.example'
const redirectUri = 'https://app.example/cb'
const challenge = 'x'.repeat(43)
const minuteMs = 60_000
const query = (more = '') =>
  `client_id=c&redirect_uri=${encodeURIComponent(redirectUri)}&response_type=code&code_challenge=${challenge}&code_challenge_method=S256${more}`
const entry: AuditEntry = {
  accountId: 'a',
  actor: 'ada@example.com',
  action: 'app.approve',
  subject: 'c',
  address: '192.0.2.1',
  outcome: 'ok',
  detail: '',
}

let opened: GrantStore
let project: Project
let codes: AuthorizationCodes
let pushedRequests: PushedRequests
let authorizations: Authorizations
let ada: Visitor
beforeEach(async () => {
  opened = await openGrantStore(clock)
  const { store, revocations, audit } = opened
  project = projectOf({ redirectUris: [redirectUri] })
  codes = createAuthorizationCodes(store, clock, () => 4, revocations)
  pushedRequests = createPushedRequests(store, clock)
  authorizations = createAuthorizations({
    ...{ clock, audit, pushedRequests, authorizationCodes: codes, revocations },
    issuer: () => issuer,
    tickets: createTickets(Buffer.alloc(32, 1), clock),
    appConsents: createAppConsents(store),
    shares: { usableBy: async () => undefined },
    projects: { find: async () => project } as never,
    nodes: {} as never,
    verifier: {} as never,
    edgeVerifier: {} as never,
    trust: {} as never,
  })
  ada = {
    person: { personId: 'ada', email: 'ada@example.com' },
    sessionId: 'session',
    authTime: clock.now() - 20 * minuteMs - 1,
    accountId: 'a',
    accountIds: ['a'],
    boundTo: undefined,
    described: 'Firefox',
  }
  await store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
    sql`INSERT INTO sessions (session_id, hash, person_id, account_id, auth_time, method, created_at, last_seen_at, expires_at,
      address, user_agent) VALUES ('session', 'h', 'ada', 'a', 0, 'passkey', 0, 0, 0, '', '')`,
  ])
})
afterEach(() => opened.close())

const begin = (more = '', visitor: Visitor | undefined = ada, ticket?: string) =>
  authorizations.begin(query(more), visitor, ticket)
/** A request for a device of the account, after the check of its edge ID token. */
async function beginForDevice(accountId = 'a') {
  const begun = await begin()
  const node = { node_id: 'node', sub: accountId } as never
  return { ...begun, request: { ...begun.request, node } }
}
const answerOf = (url: string) => Object.fromEntries(new URL(url).searchParams)
const countOf = async (table: 'audit' | 'app_consents' | 'authorization_codes') => {
  const [row] = await opened.store.run({ sql: `SELECT COUNT(*) AS count FROM ${table}`, values: [] })
  return Number(row!.count)
}
async function push(): Promise<string> {
  const uri = await pushedRequests.push({ clientId: 'c', form: query(), address: '192.0.2.1' })
  return `client_id=c&request_uri=${encodeURIComponent(uri)}`
}

describe('a request begins', () => {
  it('without a person: with a sign-in', async () => {
    const { request, ...begun } = await authorizations.begin(query(), undefined, undefined)
    expect(begun).toEqual({
      step: 'sign_in',
      obstacle: undefined,
      accountId: '',
      ticket: expect.stringMatching(new RegExp(`^${clock.now()}\\.`)),
    })
    expect(request).toMatchObject({ project, redirectUri })
  })

  it('without a person and without a question: with an error', async () => {
    expect(await authorizations.begin(query('&prompt=none'), undefined, undefined)).toMatchObject({
      step: 'login_required',
    })
  })

  it('with a person: with a question', async () => {
    expect(await begin()).toMatchObject({ step: 'consent', obstacle: undefined, accountId: 'a' })
  })

  it('with a person who cannot approve: with the reason', async () => {
    expect(await begin('', { ...ada, accountIds: [] })).toMatchObject({
      step: 'consent',
      obstacle: expect.stringMatching(/^The app is for people of its own account/),
      accountId: '',
    })
  })

  it('with a stored approval: with nothing to do', async () => {
    await authorizations.approve(await begin(), ada, entry)
    expect(await begin()).toMatchObject({ step: 'grant' })
  })
})

describe('a ticket', () => {
  it('stays the same for its query, however often the page loads', async () => {
    const { ticket } = await begin()
    clock.advance(minuteMs)
    expect((await begin('', ada, ticket)).ticket).toBe(ticket)
    expect((await authorizations.begin(query(), undefined, ticket)).ticket).toBe(ticket)
  })

  it.each([
    ['of another query', async () => (await begin('&nonce=n')).ticket],
    ['that was made up', async () => `${clock.now() - minuteMs}.${'A'.repeat(43)}`],
  ])('%s is replaced', async (_, make) => {
    const given = await make()
    clock.advance(minuteMs)
    const { ticket } = await begin('', ada, given)
    expect(ticket).not.toBe(given)
    expect(ticket.startsWith(`${clock.now()}.`)).toBe(true)
  })

  it('decides since when a sign-in counts for an app that wants a new one', async () => {
    // The approval is stored, so that only the age of the sign-in matters.
    await authorizations.approve(await begin(), ada, entry)
    const seen = await begin('&max_age=0')
    clock.advance(minuteMs)
    const signedIn = { ...ada, authTime: clock.now() }
    clock.advance(minuteMs)
    expect(await begin('&max_age=0', signedIn, seen.ticket)).toMatchObject({ step: 'grant' })
    expect(await begin('&max_age=0', signedIn)).toMatchObject({ step: 'consent' })
  })
})

describe('a person signs in again before an approval', () => {
  it.each<[string, string, number, boolean]>([
    ['not if the app wants nothing', '', -20 * minuteMs, false],
    ['with prompt=login, after a sign-in from before the request', '&prompt=login', -1, true],
    ['not with prompt=login, after a sign-in since the request', '&prompt=login', 0, false],
    ['with max_age, after an older sign-in', '&max_age=60', -minuteMs - 1, true],
    ['not with max_age, after a younger sign-in', '&max_age=60', -minuteMs, false],
  ])('%s', async (_, more, sinceMs, expected) => {
    const begun = await begin(more)
    expect(authorizations.needsSignIn(begun, { ...ada, authTime: clock.now() + sinceMs })).toBe(expected)
  })

  it('for a device, after ten minutes', async () => {
    const begun = await beginForDevice()
    const authTime = clock.now()
    clock.advance(10 * minuteMs)
    expect(authorizations.needsSignIn(begun, { ...ada, authTime })).toBe(false)
    clock.advance(1)
    expect(authorizations.needsSignIn(begun, { ...ada, authTime })).toBe(true)
  })
})

describe('an approval', () => {
  it('issues a code for what the person approved', async () => {
    const begun = await begin('&state=s&nonce=n&scope=openid+offline_access')
    const { code, ...others } = answerOf(await authorizations.approve(begun, ada, entry))
    expect(others).toEqual({ state: 's', iss: issuer })
    expect(await codes.find(code!)).toMatchObject({
      clientId: 'c',
      redirectUri,
      challenge,
      jkt: '',
      scope: 'openid offline_access',
      audience: issuer,
      nonce: 'n',
      nodeId: '',
      accountId: 'a',
      personId: 'ada',
      email: 'ada@example.com',
      authTime: Math.floor(ada.authTime / 1000),
      described: 'Firefox',
      isUsed: false,
    })
    expect(await countOf('audit')).toBe(1)
  })

  it('is stored for the next request, but not for a device', async () => {
    const { code } = answerOf(await authorizations.approve(await beginForDevice(), ada, entry))
    expect(await codes.find(code!)).toMatchObject({ nodeId: 'node' })
    expect(await countOf('app_consents')).toBe(0)
    await authorizations.approve(await begin(), ada, entry)
    expect(await countOf('app_consents')).toBe(1)
  })

  it('of a person who has left the account is an error for the app, and is not stored', async () => {
    const begun = await begin('&state=s')
    await opened.store.run(sql`DELETE FROM members`)
    await expect(authorizations.approve(begun, ada, entry)).rejects.toMatchObject({
      name: 'RefusedRequest',
      error: { code: 'access_denied' },
      returnTo: { redirectUri, state: 's' },
    })
    expect([await countOf('audit'), await countOf('app_consents')]).toEqual([0, 0])
  })

  it('that the database does not store fails, and is no answer for the app', async () => {
    const begun = await begin()
    await opened.store.run(sql`DROP TABLE authorization_codes`)
    const failed = await authorizations.approve(begun, ada, entry).catch((cause: unknown) => cause)
    expect(failed).toBeInstanceOf(Error)
    expect(failed).not.toBeInstanceOf(RefusedRequest)
  })
})

describe('a pushed request', () => {
  const refusal = new OAuthError('access_denied', 'no')
  const used = {
    name: 'RefusedRequest',
    error: { code: 'invalid_request_uri' },
    returnTo: undefined,
  }

  it('is used up by an approval', async () => {
    const begun = await authorizations.begin(await push(), ada, undefined)
    expect(answerOf(await authorizations.approve(begun, ada, entry))).toHaveProperty('code')
    await expect(authorizations.approve(begun, ada, entry)).rejects.toMatchObject(used)
    expect(await countOf('authorization_codes')).toBe(1)
  })

  it('is used up by a refusal', async () => {
    const begun = await authorizations.begin(await push(), ada, undefined)
    expect(answerOf(await authorizations.refuse(begun.request, refusal))).toEqual({
      error: 'access_denied',
      error_description: 'no',
      iss: issuer,
    })
    await expect(authorizations.approve(begun, ada, entry)).rejects.toMatchObject(used)
    await expect(authorizations.refuse(begun.request, refusal)).rejects.toMatchObject(used)
  })

  it('alone is used once: another request may be approved again', async () => {
    const begun = await begin()
    await authorizations.approve(begun, ada, entry)
    expect(answerOf(await authorizations.approve(begun, ada, entry))).toHaveProperty('code')
  })
})
