/** Links: who makes them, for whom they are, and what they do for a person who is signed in. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { linkHandlers } from './links.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof linkHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = linkHandlers({ ...opened, consoleUrl: () => 'https://console.example' })
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

type Role = 'owner' | 'member'
const invite = async (role: Role = 'member') => {
  const { link } = await handlers['member.invite']({ role }, ada, contextOf(ada))
  return link.slice(link.indexOf('#') + 1)
}
const use = (link: string, email: string, context = contextOf()) =>
  handlers['link.use']({ link, email }, undefined, context)
const look = (link: string) => handlers['link.look']({ link })
const invitations = (viewer = ada) => handlers['invitation.list']({}, viewer)

it('an invitation is for a week, and its secret is in the fragment of the address', async () => {
  const { link, expiresAt } = await handlers['member.invite']({ role: 'owner' }, ada, contextOf(ada))
  expect(link).toMatch(/^https:\/\/console\.example\/join#[\w-]{20,}$/)
  expect(expiresAt).toBe('2026-01-08T00:00:00.000Z')
  expect(await invitations()).toMatchObject([{ role: 'owner', madeBy: 'ada@example.com', expiresAt }])
  expect(opened.audited()).toEqual(['ada member.invite ok owner'])
  expect(await look(link.split('#')[1]!)).toEqual({
    purpose: 'invitation',
    email: null,
    accountName: 'a@example.com',
  })
})

it('it lets one stranger in, with its role', async () => {
  const secret = await invite('owner')
  const context = contextOf()
  expect(await use(secret, 'new@example.com', context)).toEqual({ done: true })
  expect(context.newSession).toEqual(expect.any(String))
  const members = await opened.people.members('a')
  expect(members.find(({ email }) => email === 'new@example.com')).toMatchObject({ role: 'owner' })
  expect(opened.audited().slice(1)).toEqual(['new member.join ok owner', 'new session.create ok link'])
  await expect(use(secret, 'other@example.com')).rejects.toMatchObject({ reason: 'credentials_invalid' })
  await expect(look(secret)).rejects.toMatchObject({ reason: 'credentials_invalid' })
})

it('it adds an account to a person who is signed in, and refreshes no session', async () => {
  const secret = await invite()
  const cy = await opened.viewerOf('cy', 'b', { age: 99 })
  const context = contextOf(cy)
  expect(await use(secret, 'cy@example.com', context)).toEqual({ done: true })
  expect(context.newSession).toBeUndefined()
  const { session, reach } = (await opened.sessions.stillThere(cy.session.sessionId))!
  expect(session.accountId).toBe('a')
  expect(reach!.memberships.map(({ accountId }) => accountId).sort()).toEqual(['a', 'b'])
})

it('a person with the address has to be signed in', async () => {
  const secret = await invite()
  await expect(use(secret, 'cy@example.com')).rejects.toMatchObject({ reason: 'conflict' })
  await expect(use(secret, 'cy@example.com', contextOf(ada))).rejects.toMatchObject({ reason: 'conflict' })
  const byCompany = await opened.viewerOf('cy', 'b', { companyId: 'corp' })
  await expect(use(secret, 'cy@example.com', contextOf(byCompany))).rejects.toMatchObject({
    reason: 'forbidden',
  })
  expect(await look(secret)).toBeDefined()
})

it('a link for an address signs in the person with it, and refuses one who is signed in already', async () => {
  const link = { purpose: 'recovery', accountId: '', role: '', email: 'cy@example.com', madeBy: '' } as never
  const secret = await opened.links.create(link, 60)
  expect(await look(secret)).toEqual({ purpose: 'recovery', email: 'cy@example.com', accountName: null })
  const cy = await opened.viewerOf('cy', 'b')
  await expect(use(secret, '', contextOf(cy))).rejects.toMatchObject({ reason: 'conflict' })
  const context = contextOf()
  expect(await use(secret, 'eve@example.com', context)).toEqual({ done: true })
  expect(await opened.sessions.find(context.newSession!, 'key')).toMatchObject({
    session: { personId: 'cy' },
  })
  expect(opened.audited()).toEqual([])
  expect(opened.audited('b')).toEqual(['cy session.create ok link'])
})

it('one that is used at the same moment lets no person in', async () => {
  const secret = await invite()
  handlers = linkHandlers({
    ...opened,
    consoleUrl: () => '',
    links: { ...opened.links, accept: async () => undefined } as never,
  })
  await expect(use(secret, 'new@example.com')).rejects.toMatchObject({ reason: 'credentials_invalid' })
})

it('is listed and revoked in its account only', async () => {
  await invite()
  const [{ linkId }] = (await invitations()) as unknown as [{ linkId: string }]
  const cy = await opened.viewerOf('cy', 'b')
  expect(await invitations(cy)).toEqual([])
  const revoke = (viewer: Viewer) => handlers['invitation.revoke']({ linkId }, viewer, contextOf(viewer))
  await expect(revoke(cy)).rejects.toMatchObject({ reason: 'not_found' })
  expect(await revoke(ada)).toEqual({ done: true })
  expect(await invitations()).toEqual([])
  expect(opened.audited().slice(1)).toEqual([`ada invitation.revoke ${linkId} ok`])
})

it('one by the operator is listed as such', async () => {
  const link = { purpose: 'invitation', accountId: 'a', role: 'member', email: '', madeBy: '' } as const
  await opened.links.create(link, 60)
  expect(await invitations()).toMatchObject([{ madeBy: 'the operator' }])
})
