import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { formatHuman } from '../../output/human.ts'

export const secretList = command({
  path: ['secret', 'list'],
  summary: 'List the secrets of the project: size, time of the last change, containers. No value is shown.',
  options: accessTokenOptions,
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return context.runtime.getSecrets({ edgeAccessToken })
  },
  human: (secrets) =>
    formatHuman(
      secrets.map(({ name, size, updated, damaged, containers }) => ({
        name,
        size: damaged ? 'damaged: set it again' : size,
        updated,
        containers: containers.join(', ') || '-',
      })),
    ),
})
