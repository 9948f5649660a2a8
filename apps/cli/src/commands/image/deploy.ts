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
  options: [
    {
      flags: '--name <name>',
      description: 'name of the image on the device; an image of that name is replaced',
    },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [source = ''], options }) => {
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const name = typeof options.name === 'string' ? options.name : undefined
    if (!existsSync(source))
      return context.runtime.deployImage({ edgeAccessToken, source, ...(name && { name }) })
    const progress = createProgress(context.terminal, 'sending')
    const streams = await context.streams(edgeAccessToken)
    return uploadImage(streams, source, progress.show, name).finally(progress.end)
  },
})
