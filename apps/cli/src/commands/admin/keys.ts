import { command } from '../../command.ts'

export const adminKeysList = command({
  path: ['admin', 'keys', 'list'],
  summary: 'List the signing keys, by state.',
  run: async ({ admin }) => admin['keys.list'](),
})

export const adminKeysRotate = command({
  path: ['admin', 'keys', 'rotate'],
  summary: 'Sign with the next key from now on. Tokens of the old key stay valid.',
  run: async ({ admin }) => admin['keys.rotate'](),
})
