import { expect, it } from 'vitest'
import { checkAppUsers } from './app-users.ts'

const ownAccount = { appUsers: 'account', accountId: 'a' } as const
const everyone = { appUsers: 'everyone', accountId: 'a' } as const

it.each([
  ['of its own account', ownAccount, { isOfApp: true, accountId: 'a' }],
  ['of any account, as long as it is for everyone', everyone, { isOfApp: true, accountId: 'b' }],
])('an app acts for people %s', (_, project, signIn) => {
  expect(() => checkAppUsers(project as never, signIn)).not.toThrow()
})

it('an app does not act for people of other accounts once it is for its own', () => {
  const check = () => checkAppUsers(ownAccount, { isOfApp: true, accountId: 'b' })
  expect(check).toThrow(expect.objectContaining({ code: 'invalid_grant' }))
})

it.each([false, undefined])('a sign-in of no app is not compared (%j)', (isOfApp) => {
  expect(() => checkAppUsers(ownAccount, { isOfApp, accountId: 'b' } as never)).not.toThrow()
})
