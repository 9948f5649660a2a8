import { statSync } from 'node:fs'
import { command } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { pageUrlOf } from '../context/page-url.ts'
import { UsageError } from '../failure.ts'
import { spinning } from '../output/spinner.ts'
import { readSpec } from './container/spec.ts'
import { uploadFolder } from './image/upload.ts'

export const deploy = command({
  path: ['deploy'],
  summary:
    'Pack or build a folder, send it to the device, and run it as a service as soon as it is healthy. One command for "image deploy" and "container deploy".',
  args: [
    { name: '[folder]', description: 'folder of a function, or with a Containerfile; default: this one' },
  ],
  options: [
    { flags: '--name <name>', description: 'name of the container; default: name of the image' },
    {
      flags: '--env <pair...>',
      description: 'KEY=value; can be repeated. Names with MCM. are settings of the runtime',
    },
    { flags: '--env-file <file>', description: 'file with KEY=value lines' },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [folder = '.'], options }) => {
    expectFolder(folder)
    // Wrong options fail before anything is sent.
    readSpec({ ...options, name: options.name ?? 'x', image: 'x' })
    const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
    const { image, name } = await uploadFolder(context, edgeAccessToken, folder)
    const spec = readSpec({ ...options, name: options.name ?? name, image: image.id })
    const started = context.runtime.deployContainer({ edgeAccessToken, spec })
    const made = await spinning(context.terminal, `starting ${spec.name}`, started)
    return { ...made, url: (await pageUrlOf(context, made.basePath)) ?? null }
  },
  human: ({ id, name, kind, state, url, basePath, reason }) =>
    [
      `deployed ${id} (${kind}), ${state}${reason === null ? '' : `: ${reason}`}`,
      `at       ${url ?? basePath}`,
      `call it  selvedge curl ${name}`,
      `its log  selvedge logs ${name}`,
    ].join('\n'),
})

function expectFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  throw new UsageError(
    found ? `${path} is a file, not a folder` : `there is no folder ${JSON.stringify(path)}`,
    found
      ? `An archive is deployed in two steps: selvedge image deploy ${path}, then selvedge container deploy --name <name> --image <name>`
      : 'Name the folder of a function, or create one: selvedge init worker hello',
  )
}
