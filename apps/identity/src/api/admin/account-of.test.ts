import { expect, it } from 'vitest'
import type { Account, Accounts } from '../../registry/people/accounts.ts'
import { accountOf } from './account-of.ts'

const ada = { accountId: 'a', email: 'ada@example.com' } as Account
const having = (...all: Account[]) =>
  ({ list: async () => all, byEmail: async () => ada }) as unknown as Accounts

it('finds the account that is named, or the only one', async () => {
  expect(await accountOf(having(), 'ada@example.com')).toBe(ada)
  expect(await accountOf(having(ada), null)).toBe(ada)
})

it.each([
  ['none', having(), 'there is no account yet', 'selvedge admin account create'],
  ['several', having(ada, ada), 'there are 2 accounts, and the request names no account', '--email'],
])('names the next step when there is %s', async (_, accounts, message, hint) => {
  await expect(accountOf(accounts, null)).rejects.toMatchObject({
    message,
    reason: 'conflict',
    hint: expect.stringContaining(hint),
  })
})
