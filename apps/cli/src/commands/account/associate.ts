import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'

export const accountAssociate = command({
  path: ['account', 'associate'],
  summary: 'Associate this runtime with an account. With a developer token, also do the token exchange.',
  options: accessTokenOptions,
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:account:associate')
    return context.runtime.associateAccount({ edgeAccessToken })
  },
  human: ({ accountId }) => `associated with account ${accountId}`,
})
