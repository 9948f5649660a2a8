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
        'remove all that the account has on this device, too: images, containers and what they stored',
    },
  ],
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'edge:account:unassociate')
    return context.runtime.unassociateAccount({ edgeAccessToken, wipe: options.wipe === true })
  },
  human: ({ accountId }) => `removed account ${accountId}`,
})
