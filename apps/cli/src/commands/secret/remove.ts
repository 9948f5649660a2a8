import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'

export const secretRemove = command({
  path: ['secret', 'remove'],
  summary: 'Remove a secret that no container uses.',
  args: [{ name: '<name>', description: 'name of the secret' }],
  options: accessTokenOptions,
  run: async (context, { args: [name = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return ofClient(
      edgeAccessToken,
      context.runtime.removeSecret({ edgeAccessToken, name }),
      '"selvedge secret list" shows what there is.',
    )
  },
})
