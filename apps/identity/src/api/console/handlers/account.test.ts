/** Members, revocation and the audit log: each is of the account of the session. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { accountHandlers } from './account.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof accountHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = accountHandlers(opened)
  ada = await opened.viewerOf('ada')
})
afterEach(() => opened.close())

const emails = async () => (await handlers['member.list']({}, ada)).map(({ email }) => email)
const roleOf = async (id: string) =>
  (await opened.people.members('a')).find(({ personId }) => personId === id)?.role

it('an owner sees, changes and removes the members of the own account, which is recorded', async () => {
  expect(await emails()).toEqual(['ada@example.com', 'bob@example.com'])
  const bob = { personId: 'bob' }
  expect(await handlers['member.set_role']({ ...bob, role: 'owner' }, ada, contextOf(ada))).toEqual({
    done: true,
  })
  expect(await roleOf('bob')).toBe('owner')
  expect(await handlers['member.remove'](bob, ada, contextOf(ada))).toEqual({ done: true })
  expect(await emails()).toEqual(['ada@example.com'])
  expect(opened.audited()).toEqual([
    'ada member.set_role bob ok bob@example.com: member → owner',
    'ada member.remove bob ok',
  ])
})

it('a member of another account is neither changed nor removed, and nothing is recorded', async () => {
  const cy = { personId: 'cy' }
  await expect(
    handlers['member.set_role']({ ...cy, role: 'member' }, ada, contextOf(ada)),
  ).rejects.toMatchObject({ reason: 'not_found' })
  await expect(handlers['member.remove'](cy, ada, contextOf(ada))).rejects.toMatchObject({
    reason: 'not_found',
  })
  expect(opened.audited()).toEqual([])
  expect(await opened.people.members('b')).toHaveLength(1)
})

it('all tokens of the account are revoked, and those of another are not', async () => {
  expect(await handlers['account.revoke_all']({}, ada, contextOf(ada))).toEqual({ done: true })
  const isRevoked = (account_id: string) =>
    opened.revocations.reasonFor({ jti: 'x', iat: 0, account_id }) !== undefined
  expect([isRevoked('a'), isRevoked('b')]).toEqual([true, false])
  expect(opened.audited()).toEqual(['ada account.revoke_all ok'])
})

it('the audit log has a hundred entries of the account a page', async () => {
  const entry = { actor: 'x@example.com', address: '192.0.2.1', outcome: 'ok' } as const
  for (let at = 0; at < 101; at++, opened.clock.advance(1))
    await opened.audit.record({ ...entry, accountId: 'a', action: `test.${at}` })
  await opened.audit.record({ ...entry, accountId: 'b', action: 'test.other' })
  const first = await handlers['audit.list']({ before: null } as never, ada, contextOf(ada))
  expect(first).toHaveLength(100)
  expect(first[0]).toMatchObject({ action: 'test.100' })
  const next = await handlers['audit.list']({ before: first.at(-1)!.id } as never, ada, contextOf(ada))
  expect(next.map(({ action }) => action)).toEqual(['test.0'])
})
