import { command } from '../../command.ts'

export const adminAccountCreate = command({
  path: ['admin', 'account', 'create'],
  summary: 'Create an account.',
  options: [
    { flags: '--email <address>', description: 'e-mail address of the account', required: true },
    {
      flags: '--known-person',
      description: 'the owner may be a person who already signs in with this address: ask the person first',
    },
    {
      flags: '--if-none',
      description: 'create it only if there is no account yet; otherwise show the first one',
    },
  ],
  run: async ({ admin }, { options }) => {
    const [first] = options.ifNone ? await admin['account.list']() : []
    if (first) return { accountId: first.accountId }
    return admin['account.create']({
      email: String(options.email),
      knownPerson: options.knownPerson === true,
    })
  },
})

export const adminAccountLink = command({
  path: ['admin', 'account', 'link'],
  summary:
    'Create a link with which a person signs in once, to set a new passkey or password. Without --email: the link for the first owner.',
  options: [{ flags: '--email <address>', description: 'e-mail address of the person' }],
  run: async ({ admin }, { options }) =>
    options.email === undefined
      ? admin['account.setup']()
      : admin['account.link']({ email: String(options.email) }),
  human: ({ link, expiresAt }) => `${link}\nIt works once, until ${expiresAt}.`,
})

export const adminLinkList = command({
  path: ['admin', 'link', 'list'],
  summary: 'List the sign-in links that can still be used.',
  run: async ({ admin }) => admin['link.list'](),
})

export const adminLinkRevoke = command({
  path: ['admin', 'link', 'revoke'],
  summary: 'Revoke a link before it is used.',
  args: [{ name: '<linkId>', description: 'ID of the link' }],
  run: async ({ admin }, { args }) => admin['link.revoke']({ linkId: String(args[0]) }),
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
