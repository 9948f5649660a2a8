import { command } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { ofClient } from '../context/service-access.ts'

export const why = command({
  path: ['why'],
  summary:
    'Show what happened to a container: when, who caused it, and which rule. Also for a removed container.',
  args: [{ name: '<container>', description: 'id or name of the container' }],
  options: accessTokenOptions,
  examples: ['selvedge why hello'],
  run: async (context, { args: [id = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return ofClient(edgeAccessToken, context.runtime.getContainerHistory({ edgeAccessToken, id }))
  },
  human: ({ history }) =>
    history
      .map(({ time, event, rule, by, detail }) =>
        [
          `${time}  ${event}`,
          `  by      ${by ? `account ${by.accountId}, client ${by.clientId}` : 'the runtime itself'}`,
          `  rule    ${rule}`,
          ...(detail === '' ? [] : [`  detail  ${detail}`]),
        ].join('\n'),
      )
      .join('\n'),
})
