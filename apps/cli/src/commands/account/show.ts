import { command } from '../../command.ts'

export const accountShow = command({
  path: ['account', 'show'],
  summary: 'Show the account that this runtime is associated with.',
  run: async ({ runtime }) => {
    const { accountId } = await runtime.getMe()
    return { accountId }
  },
  human: ({ accountId }) => accountId || 'none; to make the device yours: selvedge up',
})
