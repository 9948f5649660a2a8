import { command } from '../../command.ts'
import { exchange, exchangeOptions } from '../../context/access-token.ts'

const usualScope = 'openid edge:mcm edge:clusters edge:account:associate'

export const tokenAccess = command({
  path: ['token', 'access'],
  summary: 'Exchange a developer ID token and the edge ID token of this node for an access token.',
  options: [
    ...exchangeOptions(),
    { flags: '--scope <list>', description: `scopes, separated by spaces; default "${usualScope}"` },
  ],
  run: async (context, { options }) =>
    exchange(context, options, typeof options.scope === 'string' ? options.scope : usualScope),
  human: ({ access_token }) => access_token,
})
