import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'
import { spinning } from '../../output/spinner.ts'

export const appRemove = command({
  path: ['app', 'remove'],
  summary: 'Remove an app: all its containers with their data, and the secrets that were set for it alone.',
  args: [{ name: '<name>', description: 'name of the app' }],
  options: accessTokenOptions,
  run: async (context, { args: [name = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const removed = context.runtime.removeApp({ edgeAccessToken, name })
    return ofClient(
      edgeAccessToken,
      spinning(context.terminal, `removing ${name}`, removed),
      '"selvedge app list" shows what there is.',
    )
  },
  human: ({ name }) => `removed ${name}`,
})
