import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { onOneLine } from '@selvedge/protocol/redaction'
import { command } from '../command.ts'
import { accessTokenOptions } from '../context/access-token.ts'
import { runSession } from '../dev/session.ts'
import { UsageError } from '../failure.ts'

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
  run: async (context, { args: [folder = '.'], options }) => {
    if (!existsSync(folder))
      throw new UsageError(
        `there is no folder ${folder}`,
        `"selvedge init worker ${folder}" creates an example.`,
      )
    const name = typeof options.name === 'string' ? options.name : basename(resolve(folder)).toLowerCase()
    const id = await runSession(context, { folder, name, options }, interruption())
    if (id !== undefined)
      context.terminal.note(onOneLine(`${id} stays deployed; to remove it: selvedge container remove ${id}`))
    return undefined
  },
})

/** Aborted by the first signal; the second one exits at once. */
function interruption(): AbortSignal {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const interrupted = new AbortController()
  const end = () => {
    for (const each of signals) process.off(each, end).once(each, () => process.exit(interruptedCode))
    interrupted.abort()
  }
  for (const each of signals) process.on(each, end)
  return interrupted.signal
}
