import { expectedImageName, imageName } from '@selvedge/protocol'
import { command } from '../../command.ts'
import { accessTokenOf, accessTokenOptions } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'
import { pullImage } from './pull.ts'
import { readSource, uploadArchive, uploadFolder } from './upload.ts'

export const imageDeploy = command({
  path: ['image', 'deploy'],
  summary:
    'Store an image on the device: an archive or a packed folder of this machine, or an image of a registry.',
  args: [
    {
      name: '<source>',
      description:
        'archive, folder of a function or with a Containerfile, or a reference such as docker.io/library/nginx:1.27',
    },
  ],
  options: [
    {
      flags: '--name <name>',
      description: 'name of the image on the device; an image of that name is replaced',
    },
    {
      flags: '--now',
      description: 'download at once, although the link is metered or its budget is used',
    },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [source = ''], options }) => {
    const kind = readSource(source)
    const name = readName(options.name)
    const newToken = () => accessTokenOf(context, options, 'openid edge:mcm')
    const edgeAccessToken = await newToken()
    if (kind === 'reference')
      return pullImage(context, edgeAccessToken, source, { name, now: options.now === true })
    const tokens = { edgeAccessToken, newToken }
    if (kind === 'archive') return uploadArchive(context, tokens, source, name)
    return (await uploadFolder(context, tokens, source, name)).image
  },
})

/** @throws UsageError for what no image can be named */
function readName(given: unknown): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined
  const read = imageName.safeParse(given)
  if (read.success) return read.data
  throw new UsageError(
    `--name is ${JSON.stringify(given.slice(0, 100))}; expected ${expectedImageName}`,
    'For example --name camera',
  )
}
