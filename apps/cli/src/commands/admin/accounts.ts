import { command } from '../../command.ts'

export const adminAccountCreate = command({
  path: ['admin', 'account', 'create'],
  summary: 'Make an account.',
  options: [
    { flags: '--email <address>', description: 'e-mail address of the account', required: true },
    { flags: '--if-none', description: 'only where there is no account yet; otherwise show the first one' },
  ],
  run: async ({ admin }, { options }) => {
    const [first] = options.ifNone ? await admin['account.list']() : []
    return first ? { accountId: first.accountId } : admin['account.create']({ email: String(options.email) })
  },
})

export const adminAccountLink = command({
  path: ['admin', 'account', 'link'],
  summary: 'Make a link with which a person signs in once, to make a new passkey or password.',
  options: [{ flags: '--email <address>', description: 'e-mail address of the person', required: true }],
  run: async ({ admin }, { options }) => admin['account.link']({ email: String(options.email) }),
  human: ({ link, expiresAt }) => `${link}\nGood once, until ${expiresAt}.`,
})

export const adminAccountRevoke = command({
  path: ['admin', 'account', 'revoke'],
  summary: 'Revoke every token of an account that was issued until now.',
  options: [{ flags: '--email <address>', description: 'e-mail address of the account', required: true }],
  run: async ({ admin }, { options }) => admin['account.revoke']({ email: String(options.email) }),
})

export const adminAccountList = command({
  path: ['admin', 'account', 'list'],
  summary: 'List the accounts.',
  run: async ({ admin }) => admin['account.list'](),
})
