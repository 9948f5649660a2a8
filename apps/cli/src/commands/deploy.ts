import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AppRecord, ContainerRecord } from '@selvedge/protocol'
import { command, type Input } from '../command.ts'
import { hasComposeFile } from '../compose/open-compose.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { pageUrlOf } from '../context/page-url.ts'
import { UsageError } from '../failure.ts'
import { spinning } from '../output/spinner.ts'
import { type ComposeChoice, deployCompose, describeApp, isComposeName } from './app/deploy.ts'
import { settingsHelp } from './container/settings-help.ts'
import { readSpec } from './container/spec.ts'
import { uploadFolder } from './image/upload.ts'

export const deploy = command({
  path: ['deploy'],
  summary:
    'Pack or build a folder, send it to the device, and run it as a service as soon as it is healthy. One command for "image deploy" and "container deploy". With a Compose file: run its containers as one app.',
  args: [
    {
      name: '[source]',
      description:
        'folder of a function, or with a Containerfile; or a Compose file, or its folder; default: this folder',
    },
  ],
  options: [
    {
      flags: '--name <name>',
      description: 'name of the container or the app; default: that of the image or the file',
    },
    {
      flags: '--env <pair...>',
      description: 'KEY=value; can be repeated. Names with MCM. are settings of the runtime',
    },
    {
      flags: '--env-file <file>',
      description: 'file with KEY=value lines; of a Compose file: its variables',
    },
    {
      flags: '--profile <name...>',
      description: 'of a Compose file: services of this profile, too; "*" for all',
    },
    {
      flags: '--now',
      description:
        'of a Compose file: download its images at once, although the link is metered or its budget is used',
    },
    ...accessTokenOptions,
  ],
  notes: settingsHelp,
  examples: [
    'selvedge deploy hello',
    'selvedge deploy hello --name api --env MCM.ACCESS=public',
    'selvedge deploy compose.yaml   # the containers of a Compose file as one app',
  ],
  run: async (context, { args: [folder = '.'], options }): Promise<Deployed | AppRecord> => {
    const token = () => accessTokenOf(context, options, 'openid edge:mcm')
    if (isFolder(folder) ? isComposeFolder(folder) : isComposeName(folder))
      return deployCompose(context, readChoice(folder, options), token)
    expectFolder(folder, options)
    // Wrong options fail before anything is sent.
    readSpec({ ...options, name: options.name ?? 'x', image: 'x' })
    let edgeAccessToken = await token()
    const newToken = async () => {
      edgeAccessToken = await token()
      return edgeAccessToken
    }
    const { image, name } = await uploadFolder(context, { edgeAccessToken, newToken }, folder)
    const spec = readSpec({ ...options, name: options.name ?? name, image: image.id })
    const started = context.runtime.deployContainer({ edgeAccessToken, spec })
    const made = await spinning(context.terminal, `starting ${spec.name}`, started)
    return { ...made, url: (await pageUrlOf(context, made.basePath)) ?? null }
  },
  human: (deployed) => ('members' in deployed ? describeApp(deployed) : describeContainer(deployed)),
})

type Deployed = ContainerRecord & { readonly url: string | null }

const describeContainer = ({ id, name, kind, state, url, basePath, reason }: Deployed): string =>
  [
    `deployed ${id} (${kind}), ${state}${reason === null ? '' : `: ${reason}`}`,
    `at       ${url ?? basePath}`,
    `call it  selvedge curl ${name}`,
    `its log  selvedge logs ${name}`,
  ].join('\n')

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** @throws UsageError for an option that a Compose file has in itself */
function readChoice(path: string, { env, name, envFile, profile, now }: Input['options']): ComposeChoice {
  if (env !== undefined)
    throw new UsageError(
      '--env is for a folder; a Compose file has the variables of its services in itself',
      'Write them in "environment", or use a variable there and set it with --env-file.',
    )
  const listOf = (value: Input['options'][string]): readonly string[] =>
    typeof value === 'string' ? [value] : Array.isArray(value) ? (value as string[]) : []
  return {
    path,
    profiles: listOf(profile),
    envFiles: listOf(envFile),
    name: typeof name === 'string' ? name : undefined,
    now: now === true,
  }
}

function expectFolder(path: string, { profile, now }: Input['options']): void {
  if (now !== undefined)
    throw new UsageError(
      '--now is for a Compose file: a folder is uploaded, which never waits',
      'Leave it out, or name the file: selvedge deploy compose.yaml --now',
    )
  if (profile !== undefined)
    throw new UsageError('--profile is for a Compose file', 'Name the file: selvedge deploy compose.yaml')
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  throw new UsageError(
    found ? `${path} is a file, not a folder` : `there is no folder ${JSON.stringify(path)}`,
    found && !path.endsWith('.tar')
      ? `Name the folder that it is in: selvedge deploy ${dirname(path)}`
      : found
        ? `An archive is deployed in two steps: selvedge image deploy ${path}, then selvedge container deploy --name <name> --image <name>`
        : isReference(path)
          ? `An image of a registry is deployed in two steps: selvedge image deploy ${path}, then selvedge container deploy --name <name> --image <name>`
          : 'Name the folder of a function, or create one: selvedge init worker hello',
  )
}

/** What a folder that becomes an image begins with. */
const beginnings = [
  ...['index.ts', 'index.js', 'index.wasm', 'src/index.ts', 'package.json', 'Containerfile', 'Dockerfile'],
]

/** Whether a folder has a Compose file, and nothing that becomes an image. */
const isComposeFolder = (folder: string): boolean =>
  hasComposeFile(folder) && !beginnings.some((name) => existsSync(join(folder, name)))

/** Whether a source may be the reference of an image, such as `redis:7` or `ghcr.io/team/app`. */
const isReference = (text: string): boolean =>
  /^[a-z0-9]/.test(text) &&
  (text.includes(':') || (text.includes('/') && text.split('/', 1)[0]!.includes('.')))
