import { existsSync } from 'node:fs'
import { uploadImage } from '@selvedge/client/node'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { createProgress } from '../../output/progress.ts'

export const imageDeploy = command({
  path: ['image', 'deploy'],
  summary: 'Store an image on the device, from an archive on this machine or from a registry.',
  args: [
    {
      name: '<file-or-reference>',
      description: 'archive on this machine, or a reference such as docker.io/library/nginx:1.27',
    },
  ],
  options: accessTokenOptions,
  run: async (context, { args: [source = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    if (!existsSync(source)) return context.runtime.deployImage({ edgeAccessToken, source })
    const progress = createProgress(context.terminal, 'sending')
    return uploadImage(await context.streams(edgeAccessToken), source, progress.show).finally(progress.end)
  },
})
