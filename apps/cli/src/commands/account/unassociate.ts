import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'

export const accountUnassociate = command({
  path: ['account', 'unassociate'],
  summary: 'Remove the account from this runtime.',
  options: [
    ...accessTokenOptions,
    {
      flags: '--wipe',
      description:
        'also remove all data of the account from this device: images, containers and their storage',
    },
  ],
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'edge:account:unassociate')
    return context.runtime.unassociateAccount({ edgeAccessToken, wipe: options.wipe === true })
  },
  human: ({ accountId }) => `removed account ${accountId}`,
})
