import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { createBuilder } from '../archive/bundler/builder.ts'
import { command, type Input } from '../command.ts'
import { accessTokenOptions } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { createTokens, deployFolder } from '../dev/deploy.ts'
import { followLog } from '../dev/follow.ts'
import { createShow } from '../dev/show.ts'
import { watchFolder } from '../dev/watch.ts'
import { describeFailure, exitCodes, UsageError } from '../failure.ts'

/** Milliseconds after which a deployment is tried again when no runtime answers. */
const retryMs = 1000

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
    if (!existsSync(folder))
      throw new UsageError(
        `there is no folder ${folder}`,
        `"selvedge init worker ${folder}" makes an example.`,
      )
    const name = typeof options.name === 'string' ? options.name : basename(resolve(folder)).toLowerCase()
    const session = startSession(context, { folder, name, options })
    await untilInterrupted(context)
    const id = await session.close()
    if (id !== undefined)
      context.terminal.note(`${id} stays deployed; to remove it: selvedge container remove ${id}`)
    return undefined
  },
})

/** The first signal ends the session in order, the second one at once. */
function untilInterrupted({ terminal }: Context): Promise<void> {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  return new Promise((resolve) => {
    const end = () => {
      for (const each of signals) process.off(each, end).once(each, () => process.exit(130))
      terminal.redraw('')
      resolve()
    }
    for (const each of signals) process.on(each, end)
  })
}

interface Target {
  readonly folder: string
  readonly name: string
  readonly options: Input['options']
}

function startSession(context: Context, target: Target) {
  const { terminal } = context
  const { folder } = target
  const builder = createBuilder()
  const tokens = createTokens(context, target.options)
  const show = createShow(terminal, folder)
  const closing = new AbortController()
  const { signal } = closing
  let id: string | undefined
  let following: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined

  async function deploy(): Promise<void> {
    if (!existsSync(folder))
      return terminal.note(`${folder} is gone; waiting until it is there again`, 'yellow')
    try {
      const deployed = await deployFolder(context, tokens, builder, target)
      id = deployed.id
      watcher.add(deployed.modules.filter((each) => !each.includes('/node_modules/')))
      show.deployed(deployed)
      following ??= followLog(context, tokens, id, signal, show.logLine, (why) =>
        terminal.note(`the log cannot be read, trying again: ${why}`, 'yellow'),
      )
    } catch (cause) {
      if (signal.aborted) return
      show.failed(cause)
      if (describeFailure(cause).code === exitCodes.notRunning) retry = setTimeout(save, retryMs)
    }
  }
  const queue = createQueue(deploy)
  const save = () => {
    clearTimeout(retry)
    if (!signal.aborted) queue.add()
  }
  const watcher = watchFolder(folder, {
    onSave: save,
    onProblem: (text) => terminal.note(text, 'yellow'),
  })
  save()
  return {
    /** Ends it after the deployment that is under way. @returns the ID of the container, if it was deployed */
    async close(): Promise<string | undefined> {
      closing.abort()
      clearTimeout(retry)
      builder.close()
      await watcher.close()
      await queue.idle()
      await following
      return id
    },
  }
}

/** Runs a task once for all the requests that come while it runs. */
function createQueue(task: () => Promise<void>) {
  let running: Promise<void> | undefined
  let isWanted = false
  const run = async () => {
    while (isWanted) {
      isWanted = false
      await task()
    }
    running = undefined
  }
  return {
    add() {
      isWanted = true
      running ??= run()
    },
    idle: async () => running,
  }
}
