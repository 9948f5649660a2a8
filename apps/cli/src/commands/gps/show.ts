import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'

export const gpsShow = command({
  path: ['gps', 'show'],
  summary: 'Show the last location that was recorded.',
  options: accessTokenOptions,
  run: async (context, { options }) =>
    context.runtime.getGps({ edgeAccessToken: await accessTokenOf(context, options, 'openid') }),
})
