import { watch } from 'node:fs'
import { basename, resolve } from 'node:path'
import { followLogs, uploadImage } from '@selvedge/client/node'
import type { LogLine } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { buildFolder } from '../archive/build.ts'
import { command } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { describeFailure } from '../failure.ts'
import { indented } from '../output/clean.ts'
import { readSpec } from './container/spec.ts'

/** Debounce: milliseconds without a change after which a folder counts as saved. */
const debounceMs = 150

/** Builds a folder, deploys it, and shows its log; again on every change, until interrupted. */
export const dev = command({
  path: ['dev'],
  summary: 'Build and deploy a folder, follow its log, and deploy it again when a file changes.',
  args: [{ name: '<dir>', description: 'folder of a function, or with a Containerfile' }],
  options: [
    { flags: '--name <name>', description: 'name of the container; default: name of the folder' },
    { flags: '--env <pair...>', description: 'KEY=value; can be repeated' },
    { flags: '--env-file <file>', description: 'file with KEY=value lines' },
    ...accessTokenOptions,
  ],
  run: async (context, { args: [folder = '.'], options }) => {
    const { terminal } = context
    const name = typeof options.name === 'string' ? options.name : basename(resolve(folder)).toLowerCase()
    const token = () => accessTokenOf(context, options, 'openid edge:mcm')

    async function deploy(): Promise<string | undefined> {
      try {
        const built = await buildFolder(folder, terminal)
        const edgeAccessToken = await token()
        try {
          const image = await uploadImage(await context.streams(edgeAccessToken), built.path)
          const spec = readSpec({ ...options, name, image: image.id })
          const { id, basePath, kind } = await context.runtime.deployContainer({ edgeAccessToken, spec })
          terminal.note(onOneLine(`deployed ${id} (${kind}) at ${await urlOf(context, basePath)}`))
          return id
        } finally {
          built.remove()
        }
      } catch (cause) {
        const { message, hint } = describeFailure(cause)
        terminal.note(
          `not deployed: ${indented(message)}${hint === undefined ? '' : `\n  ${indented(hint)}`}`,
        )
        return undefined
      }
    }

    const ended = new Promise<void>((done) => {
      process.once('SIGINT', () => done())
      process.once('SIGTERM', () => done())
    })
    let following: AbortController | undefined
    let turn: Promise<void> = Promise.resolve()
    const again = () => {
      turn = turn.then(async () => {
        const id = await deploy()
        if (id === undefined || following) return
        following = new AbortController()
        const show = ({ stream, text }: LogLine) =>
          terminal.out(`${stream === 'stdout' ? ' ' : '!'} ${onOneLine(text)}`)
        const { signal } = following
        followLogs(await context.streams(await token()), id, { tail: 20, signal }, show)
          .catch(() => undefined)
          .finally(() => {
            following = undefined
          })
      })
    }
    again()
    let timer: NodeJS.Timeout | undefined
    const watcher = watch(folder, { recursive: true }, (_, file) => {
      if (file === null || /(^|\/)(node_modules|\.git)(\/|$)|\.tar$/.test(file)) return
      clearTimeout(timer)
      timer = setTimeout(again, debounceMs)
    })
    await ended
    watcher.close()
    clearTimeout(timer)
    await turn
    following?.abort()
    return undefined
  },
})

async function urlOf({ runtime, runtimeConnection, isLocal }: Context, basePath: string): Promise<string> {
  return isLocal() ? `${basePath} (${(await runtime.getMe()).name})` : runtimeConnection.url + basePath
}
