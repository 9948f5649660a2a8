import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { explainEmpty } from '../../context/service-access.ts'
import { formatHuman } from '../../output/human.ts'

export const imageList = command({
  path: ['image', 'list'],
  summary: 'List the images of the project.',
  options: accessTokenOptions,
  run: async (context, { options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const images = await context.runtime.getImages({ edgeAccessToken })
    if (images.length === 0) explainEmpty(context, edgeAccessToken, options)
    return images
  },
  human: (images) =>
    formatHuman(
      images.map(({ id, kind, size, containers, repoTags }) => ({
        id,
        kind,
        size,
        containers,
        tags: repoTags,
      })),
    ),
})
