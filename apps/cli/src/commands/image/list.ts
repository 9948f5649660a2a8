import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { formatHuman } from '../../output/human.ts'

export const imageList = command({
  path: ['image', 'list'],
  summary: 'List the images of the project.',
  options: accessTokenOptions,
  run: async (context, { options }) =>
    context.runtime.getImages({ edgeAccessToken: await accessTokenOf(context, options, 'openid edge:mcm') }),
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
