/** Sign-ins of programs: an account sees and ends its own only. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  type ConsoleStore,
  contextOf,
  openConsoleStore,
} from '../../../../../../tests/harness/console-calls.ts'
import type { Viewer } from '../context.ts'
import { programSignInHandlers } from './program-sign-ins.ts'

let opened: ConsoleStore
let handlers: ReturnType<typeof programSignInHandlers>
let ada: Viewer
beforeEach(async () => {
  opened = await openConsoleStore()
  handlers = programSignInHandlers(opened)
  await opened.addProject('c', 'a')
  await opened.addProject('d', 'b')
  ada = await opened.viewerOf('ada')
  await opened.addSignIn('s', 'c')
  await opened.addSignIn('t', 'd', 'b', 'cy')
})
afterEach(() => opened.close())

it('those of the account are listed, with the name of the project', async () => {
  const at = '2026-01-01T00:00:00.000Z'
  expect(await handlers['sign_in.list']({}, ada)).toEqual([
    {
      ...{ sid: 's', clientId: 'c', projectName: 'project c', email: 'ada@example.com' },
      ...{ described: 'a terminal', scope: 'openid', createdAt: at, lastUsedAt: at },
      expiresAt: '2026-01-02T00:00:00.000Z',
    },
  ])
})

it('one of the account is revoked with the consent of its app, and one of another is not', async () => {
  const forgotten: string[] = []
  const appConsents = { forget: async (...of: string[]) => void forgotten.push(of.join(' ')) } as never
  handlers = programSignInHandlers({ ...opened, appConsents })
  await expect(handlers['sign_in.revoke']({ sid: 't' }, ada, contextOf(ada))).rejects.toMatchObject({
    reason: 'not_found',
  })
  expect(await handlers['sign_in.revoke']({ sid: 's' }, ada, contextOf(ada))).toEqual({ done: true })
  expect([opened.revocations.isRevoked('s'), opened.revocations.isRevoked('t')]).toEqual([true, false])
  expect(forgotten).toEqual(['ada c'])
  expect(opened.audited()).toEqual(['ada sign_in.revoke s ok'])
})
