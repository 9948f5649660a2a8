/** A person's own sessions and sign-in methods, and what a sign-in with a company may not do. */
import { version } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { personHandlers } from './person.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof personHandlers>
let ada: Viewer
/** What was called at the credentials, which have tests of their own. */
let called: string[]
beforeEach(async () => {
  opened = await openConsoleStore()
  called = []
  const note =
    (name: string, answer?: unknown) =>
    async (...given: unknown[]) => {
      called.push(
        [
          name,
          ...given.map((each) => (typeof each === 'object' ? (each as Viewer['person']).personId : each)),
        ].join(' '),
      )
      return answer
    }
  handlers = personHandlers({
    ...opened,
    passkeys: {
      list: async () => [{}, {}],
      beginRegistration: note('begin', 'options'),
      finishRegistration: note('finish'),
      remove: note('remove'),
    } as never,
    passwords: { hash: async (text: string) => `hash of ${text}` } as never,
    recoveryCodes: { left: async () => 7, hadAny: async () => true, create: note('codes', ['one']) } as never,
    companies: {
      byId: async (id: string) => (id === 'corp' ? { domain: 'corp.example' } : undefined),
    } as never,
    expiringTokens: async (of: object) => [of] as never,
    identityUrl: () => 'https://identity.example',
    discoveryUrl: 'https://discovery.example',
  })
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const sessionOf = (viewer?: Viewer) => handlers['session.get']({}, undefined, contextOf(viewer))
const listed = async (viewer: Viewer) => handlers['session.list']({}, viewer)

it('a session shows the person, the account and the ways to sign in', async () => {
  expect(await sessionOf(ada)).toEqual({
    viewer: {
      ...{ personId: 'ada', email: 'ada@example.com', accountId: 'a', role: 'owner' },
      ...{ accounts: ada.memberships, authTime: '2026-01-01T00:00:00.000Z', company: null },
      ...{ hasPassword: false, passkeys: 2, recoveryCodes: 7, hadRecoveryCodes: true },
      expiringTokens: [{ accountId: 'a', personId: 'ada' }],
    },
    needsOwner: false,
    identityUrl: 'https://identity.example',
    discoveryUrl: 'https://discovery.example',
    version,
  })
  const withPassword = { ...ada, person: { ...ada.person, password: 'x' } }
  expect((await sessionOf(withPassword)).viewer).toMatchObject({ hasPassword: true })
  for (const [companyId, company] of [
    ['corp', 'corp.example'],
    ['gone', null],
    [undefined, null],
  ] as const) {
    const viewer = { ...ada, session: { ...ada.session, companyId } }
    expect((await sessionOf(viewer)).viewer).toMatchObject({ company })
  }
})

it('only a service that no person can sign in to needs an owner', async () => {
  expect(await sessionOf()).toMatchObject({ viewer: null, needsOwner: true })
  await opened.people.setPassword('ada', 'hash', '')
  expect(await sessionOf()).toMatchObject({ viewer: null, needsOwner: false })
})

it('is removed with its cookie, and a visitor loses the cookie as well', async () => {
  for (const viewer of [ada, undefined]) {
    const context = contextOf(viewer)
    expect(await handlers['session.end']({}, undefined, context)).toEqual({ done: true })
    expect(context.newSession).toBeNull()
  }
  expect(await opened.sessions.stillThere(ada.session.sessionId)).toBeUndefined()
})

it('a person sees and ends the own sessions, and not those of others', async () => {
  const other = await opened.viewerOf('ada')
  const bob = await opened.viewerOf('bob')
  const mine = (await listed(ada)).map(({ sessionId, isCurrent }) => [sessionId, isCurrent])
  expect(new Map(mine as [string, boolean][])).toEqual(
    new Map([
      [ada.session.sessionId, true],
      [other.session.sessionId, false],
    ]),
  )
  expect(Object.keys((await listed(ada))[0]!)).not.toEqual(expect.arrayContaining(['personId']))
  const end = (sessionId: string) => handlers['session.revoke']({ sessionId }, ada, contextOf(ada))
  await expect(end(bob.session.sessionId)).rejects.toMatchObject({ reason: 'not_found' })
  expect(await end(other.session.sessionId)).toEqual({ done: true })
  await expect(end(other.session.sessionId)).rejects.toMatchObject({ reason: 'not_found' })
  expect(opened.audited()).toEqual([`ada session.revoke ${other.session.sessionId} ok`])
})

it('one that ends at the same moment was not there', async () => {
  handlers = personHandlers({
    ...opened,
    sessions: { ...opened.sessions, end: async () => false },
  } as never)
  const { sessionId } = ada.session
  await expect(handlers['session.revoke']({ sessionId }, ada, contextOf(ada))).rejects.toMatchObject({
    reason: 'not_found',
  })
})

it('a company sees its own sessions only', async () => {
  const byCompany = { ...ada, session: { ...ada.session, companyId: 'corp' } }
  expect(await listed(byCompany)).toEqual([])
  const { sessionId } = ada.session
  await expect(
    handlers['session.revoke']({ sessionId }, byCompany, contextOf(byCompany)),
  ).rejects.toMatchObject({ reason: 'not_found' })
})

it('a session switches to an account of the person only', async () => {
  const to = (accountId: string, viewer = ada) => handlers['session.switch']({ accountId }, viewer)
  await expect(to('b')).rejects.toMatchObject({ reason: 'not_found' })
  // The list is of the session before: the store decides again.
  const stale = { ...ada, memberships: [...ada.memberships, { ...ada.membership, accountId: 'b' }] }
  await expect(to('b', stale)).rejects.toMatchObject({ reason: 'not_found' })
  await opened.join('b', 'ada')
  await expect(to('b')).rejects.toMatchObject({ reason: 'not_found' })
  expect(await to('b', stale)).toEqual({ done: true })
  expect((await opened.sessions.stillThere(ada.session.sessionId))!.session.accountId).toBe('b')
})

it('passkeys, passwords and recovery codes are of the person, and each change is recorded', async () => {
  const context = contextOf(ada)
  expect(await handlers['passkey.begin']({}, ada)).toBe('options')
  const answer = { challenge: 'c', response: 'r' as never, name: 'key' }
  expect(await handlers['passkey.finish'](answer, ada, context)).toEqual({ done: true })
  expect(await handlers['passkey.list']({}, ada)).toHaveLength(2)
  expect(await handlers['passkey.remove']({ credentialId: 'k' }, ada, context)).toEqual({ done: true })
  const password = 'three quiet herons at dusk'
  expect(await handlers['password.set']({ password }, ada, context)).toEqual({ done: true })
  expect(await handlers['recovery.create']({}, ada, context)).toEqual({ codes: ['one'] })
  expect(called).toEqual(['begin ada', 'finish ada c r key', 'remove ada k', 'codes ada'])
  expect(await opened.people.byId('ada')).toMatchObject({ password: `hash of ${password}` })
  expect(opened.audited()).toEqual([
    'ada passkey.create ok key',
    'ada passkey.remove k ok',
    'ada password.set ok',
    'ada recovery.create ok',
  ])
})

it('a new password ends the other sessions, and a weak one is refused', async () => {
  const other = await opened.viewerOf('ada')
  const set = (password: string) => handlers['password.set']({ password }, ada, contextOf(ada))
  await expect(set('password1234')).rejects.toMatchObject({ reason: 'invalid_params' })
  await expect(set('ada@example.com!')).rejects.toMatchObject({ reason: 'invalid_params' })
  expect(opened.audited()).toEqual([])
  await set('three quiet herons at dusk')
  expect(await opened.sessions.stillThere(other.session.sessionId)).toBeUndefined()
  expect(await opened.sessions.stillThere(ada.session.sessionId)).toBeDefined()
})

it('a company adds and removes no way to sign in', async () => {
  const viewer = { ...ada, session: { ...ada.session, companyId: 'corp' } }
  const context = contextOf(viewer)
  const answer = { challenge: 'c', response: 'r' as never, name: 'key' }
  for (const call of [
    async () => handlers['passkey.begin']({}, viewer),
    async () => handlers['passkey.finish'](answer, viewer, context),
    async () => handlers['passkey.remove']({ credentialId: 'k' }, viewer, context),
    async () => handlers['password.set']({ password: 'three quiet herons at dusk' }, viewer, context),
    async () => handlers['recovery.create']({}, viewer, context),
  ])
    await expect(call()).rejects.toMatchObject({ reason: 'forbidden' })
  expect(called).toEqual([])
})
