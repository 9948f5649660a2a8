import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'

export const containerRun = command({
  path: ['container', 'run'],
  summary: 'Call the handler of a function for `scheduled` now, and wait until that is complete.',
  args: [{ name: '<id>', description: 'id or name of the container' }],
  options: [
    {
      flags: '--cron <expression>',
      description: 'what the function gets as expression; default: the first one of MCM.CRON',
    },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [id = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const cron = typeof options.cron === 'string' ? { cron: options.cron } : {}
    return ofClient(edgeAccessToken, context.runtime.runScheduled({ edgeAccessToken, id, ...cron }))
  },
  human: ({ outcome, detail }) => (detail === null ? outcome : `${outcome}: ${detail}`),
})
