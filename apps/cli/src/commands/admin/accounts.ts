import { command } from '../../command.ts'

export const adminAccountCreate = command({
  path: ['admin', 'account', 'create'],
  summary: 'Make an account.',
  options: [{ flags: '--email <address>', description: 'e-mail address of the account', required: true }],
  run: async ({ admin }, { options }) => admin['account.create']({ email: String(options.email) }),
})

export const adminAccountList = command({
  path: ['admin', 'account', 'list'],
  summary: 'List the accounts.',
  run: async ({ admin }) => admin['account.list'](),
})
