import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { ofClient } from '../../context/service-access.ts'

export const imageRemove = command({
  path: ['image', 'remove'],
  summary: 'Remove an image that no container uses.',
  args: [{ name: '<id>', description: 'ID of the image, as "image list" shows it' }],
  options: accessTokenOptions,
  run: async (context, { args: [id = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    return ofClient(
      edgeAccessToken,
      context.runtime.removeImage({ edgeAccessToken, id }),
      '"selvedge image list" shows what there is.',
    )
  },
})
