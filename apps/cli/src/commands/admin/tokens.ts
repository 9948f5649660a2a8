import { writeFileSync } from 'node:fs'
import { command } from '../../command.ts'
import { readNumber } from '../../number-option.ts'

export const adminTokenDeveloper = command({
  path: ['admin', 'token', 'developer'],
  summary: 'Create a developer ID token. It is shown once.',
  options: [
    {
      flags: '--email <address>',
      description: 'account of the token; optional if there is only one account',
    },
    { flags: '--client-id <id>', description: 'client ID of its project', required: true },
    { flags: '--days <number>', description: 'lifetime in days, 1 to 365; default 30' },
    {
      flags: '--out <file>',
      description: 'write the token to a file that only you may read, instead of showing it',
    },
  ],
  run: async ({ admin }, { options }) => {
    const range = { min: 1, max: 365, unit: 'days' }
    const days = options.days === undefined ? null : readNumber('--days', options.days, range)
    const made = await admin['token.developer.create']({
      email: typeof options.email === 'string' ? options.email : null,
      clientId: String(options.clientId),
      days,
    })
    if (typeof options.out !== 'string') return made
    writeFileSync(options.out, `${made.idToken}\n`, { mode: 0o600, flag: 'wx' })
    const { idToken: _, ...rest } = made
    return { ...rest, file: options.out }
  },
  human: (made) =>
    'idToken' in made ? made.idToken : `written to ${made.file}, good until ${made.expiresAt}`,
})

export const adminTokenList = command({
  path: ['admin', 'token', 'list'],
  summary: 'List the developer ID tokens that were issued, without the tokens themselves.',
  run: async ({ admin }) => admin['token.developer.list'](),
})

export const adminTokenRevoke = command({
  path: ['admin', 'token', 'revoke'],
  summary: 'Revoke a developer ID token by its jti.',
  args: [{ name: '<jti>', description: '"jti" of the token' }],
  run: async ({ admin }, { args: [jti = ''] }) => admin['token.developer.revoke']({ jti }),
})
