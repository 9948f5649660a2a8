/** Issuers that a project trusts: an account changes the rules of its own projects only. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { issuerHandlers } from './issuers.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof issuerHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = issuerHandlers({
    ...opened,
    issuerKeys: { show: async () => 'keys' } as never,
    federation: { test: async (...given: unknown[]) => given } as never,
  })
  await opened.addProject('c', 'a')
  await opened.addProject('d', 'b')
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const stated = (clientId: string, as: 'person' | 'workload' = 'workload') =>
  ({
    ...{ clientId, issuer: 'https://ci.example', audiences: ['x'], as, scopes: ['openid'] },
    ...{ conditions: [{ claim: 'sub', value: 's' }], algorithms: ['RS256'] },
  }) as never as Parameters<(typeof handlers)['issuer.add']>[0]
const add = (as?: 'person' | 'workload') => handlers['issuer.add'](stated('c', as), ada, contextOf(ada))
const list = (clientId = 'c') => handlers['issuer.list']({ clientId }, ada)

it('a rule is added to a project of the account, never for a private network', async () => {
  const open = { ...stated('c'), allowsPrivate: true } as never
  const made = await handlers['issuer.add'](open, ada, contextOf(ada))
  expect(made).toMatchObject({ issuer: 'https://ci.example', allowsPrivate: false, keys: 'keys' })
  expect(await list()).toMatchObject([{ issuerId: made.issuerId, subjects: [] }])
  expect(opened.audited()).toEqual([`ada issuer.add ${made.issuerId} ok https://ci.example`])
})

it('those of another account are neither seen nor changed', async () => {
  const foreign = await opened.trustedIssuers.create({ ...stated('d'), allowsPrivate: false } as never)
  const { issuerId } = foreign
  const calls = [
    () => list('d'),
    () => handlers['issuer.add'](stated('d'), ada, contextOf(ada)),
    // The second names a project of the account, and the rule of another one.
    ...['d', 'c'].flatMap((clientId) => {
      const which = { clientId, issuerId }
      return [
        () => handlers['issuer.remove'](which, ada, contextOf(ada)),
        () => handlers['issuer.revoke']({ ...which, subject: null }, ada, contextOf(ada)),
        () => handlers['issuer.test']({ ...which, token: 't' }, ada),
        () => handlers['issuer.link']({ ...which, subject: 's', personId: 'ada' }, ada, contextOf(ada)),
        () => handlers['issuer.unlink']({ ...which, subject: 's' }, ada, contextOf(ada)),
      ]
    }),
  ]
  for (const call of calls) await expect(async () => call()).rejects.toMatchObject({ reason: 'not_found' })
  expect(await opened.trustedIssuers.list('d')).toEqual([foreign])
  expect(opened.audited()).toEqual([])
})

it('what it gave is revoked for all, for one subject, or with the rule', async () => {
  const calls: unknown[] = []
  handlers = issuerHandlers({
    ...opened,
    issuerKeys: { show: async () => 'keys' } as never,
    federation: {} as never,
    trustedIssuers: {
      ...opened.trustedIssuers,
      end: async (rules, how) => void calls.push([rules.map(({ issuerId }) => issuerId), how]),
    },
  })
  const { issuerId } = await add()
  const which = { clientId: 'c', issuerId }
  expect(await handlers['issuer.revoke']({ ...which, subject: null }, ada, contextOf(ada))).toEqual({
    done: true,
  })
  expect(await handlers['issuer.revoke']({ ...which, subject: 's' }, ada, contextOf(ada))).toEqual({
    done: true,
  })
  expect(await handlers['issuer.remove'](which, ada, contextOf(ada))).toEqual({ done: true })
  expect(calls).toEqual([
    [[issuerId], {}],
    [[issuerId], { subject: 's' }],
    [[issuerId], { remove: true }],
  ])
  expect(opened.audited().slice(1)).toEqual([
    `ada issuer.revoke ${issuerId} ok https://ci.example`,
    `ada issuer.revoke ${issuerId} ok s`,
    `ada issuer.remove ${issuerId} ok https://ci.example`,
  ])
})

it('a token is tried against the one rule', async () => {
  const { issuerId } = await add()
  const [rules, issuer, token] = (await handlers['issuer.test'](
    { clientId: 'c', issuerId, token: 't' },
    ada,
  )) as never as [object[], string, string]
  expect([rules, issuer, token]).toMatchObject([[{ issuerId }], 'https://ci.example', 't'])
})

it('a subject is linked to a member of the account, by a rule for people, until it is unlinked', async () => {
  const workloads = await add()
  const { issuerId } = await add('person')
  const link = (personId: string, id = issuerId) =>
    handlers['issuer.link']({ clientId: 'c', issuerId: id, subject: 's', personId }, ada, contextOf(ada))
  await expect(link('bob', workloads.issuerId)).rejects.toMatchObject({ reason: 'conflict' })
  await expect(link('cy')).rejects.toMatchObject({ reason: 'not_found' })
  expect(await link('bob')).toEqual({ done: true })
  expect((await list()).flatMap(({ subjects }) => subjects)).toMatchObject([
    { subject: 's', email: 'bob@example.com' },
  ])
  const unlink = () =>
    handlers['issuer.unlink']({ clientId: 'c', issuerId, subject: 's' }, ada, contextOf(ada))
  expect(await unlink()).toEqual({ done: true })
  expect((await list()).flatMap(({ subjects }) => subjects)).toMatchObject([{ email: null }])
  await expect(unlink()).rejects.toMatchObject({ reason: 'not_found' })
  expect(opened.audited().slice(2)).toEqual([
    `ada issuer.link ${issuerId} ok s bob@example.com`,
    `ada issuer.unlink ${issuerId} ok s`,
  ])
})

it('what a subject got is revoked before it is unlinked', async () => {
  const order: string[] = []
  const note = (name: string) => async () => void order.push(name)
  const { issuerId } = await add('person')
  handlers = issuerHandlers({
    ...opened,
    ...{ issuerKeys: {} as never, federation: {} as never },
    trustedIssuers: { ...opened.trustedIssuers, end: note('end') },
    federatedSubjects: { ...opened.federatedSubjects, unlinkPerson: note('unlink') },
  })
  await handlers['issuer.unlink']({ clientId: 'c', issuerId, subject: 's' }, ada, contextOf(ada))
  expect(order).toEqual(['end', 'unlink'])
})
