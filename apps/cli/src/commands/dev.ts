import { statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command } from '../command.ts'
import { accessTokenOptions } from '../context/access-token.ts'
import { runSession } from '../dev/session.ts'
import { UsageError } from '../failure.ts'
import { isComposeName } from './app/deploy.ts'

/** Exit code of a program that Ctrl-C ends at once. */
const interruptedCode = 130

/** Builds a folder, deploys it, and shows its log; again on every change, until interrupted. */
export const dev = command({
  path: ['dev'],
  summary:
    'Build and deploy a folder, follow its log, and deploy it again when a file changes. Errors show the lines of your source.',
  args: [{ name: '<dir>', description: 'folder of a function, or with a Containerfile' }],
  options: [
    { flags: '--name <name>', description: 'name of the container; default: name of the folder' },
    { flags: '--env <pair...>', description: 'KEY=value; can be repeated' },
    { flags: '--env-file <file>', description: 'file with KEY=value lines' },
    ...accessTokenOptions,
  ],
  examples: ['selvedge dev hello', 'selvedge dev hello --env MCM.ACCESS=public --env GREETING=hi'],
  run: async (context, { args: [folder = '.'], options }) => {
    expectFolder(folder)
    const name = typeof options.name === 'string' ? options.name : basename(resolve(folder)).toLowerCase()
    const id = await runSession(context, { folder, name, options }, interruption())
    if (id !== undefined)
      context.terminal.note(onOneLine(`${id} stays deployed; to remove it: selvedge container remove ${id}`))
    return undefined
  },
})

/** @throws UsageError for a file, and without a folder: it would wait for a change that makes it one */
function expectFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found)
    throw new UsageError(
      `${path} is a file, and dev watches a folder`,
      isComposeName(path)
        ? `A Compose file is deployed once: selvedge deploy ${path}`
        : `Name the folder that it is in: selvedge dev ${dirname(path)}`,
    )
  throw new UsageError(
    `there is no folder ${JSON.stringify(path)}`,
    `Create an example: selvedge init worker ${path}`,
  )
}

/** Milliseconds between two checks of the parent process. */
const parentCheckMs = 500

/**
 * Aborted by the first signal, and when the process that started the program is gone, such as npm that was killed; a second signal
 * exits at once.
 */
function interruption(): AbortSignal {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const interrupted = new AbortController()
  const end = () => {
    for (const each of signals) process.off(each, end).once(each, () => process.exit(interruptedCode))
    interrupted.abort()
  }
  for (const each of signals) process.on(each, end)
  const parent = process.ppid
  const check = setInterval(() => process.ppid !== parent && interrupted.abort(), parentCheckMs)
  check.unref()
  interrupted.signal.addEventListener('abort', () => clearInterval(check))
  return interrupted.signal
}
