import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownEnv, root, type Stack } from './processes.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

export const cliPath = join(root, 'apps/cli/bin/selvedge.js')

/** The environment of the command line for a stack: its state folder, and a temporary configuration folder. */
export const cliEnvOf = (stack: Pick<Stack, 'state'>): Record<string, string> => ({
  ...ownEnv('cli'),
  SELVEDGE_STATE: stack.state,
  XDG_CONFIG_HOME: join(stack.state, 'config'),
})

/** The file of the only sign-in of a person. */
export function signInFile({ XDG_CONFIG_HOME = '' }: Record<string, string>): string {
  const folder = join(XDG_CONFIG_HOME, 'selvedge/sign-ins')
  const [name, ...more] = readdirSync(folder)
  if (name === undefined || more.length > 0)
    throw new Error(`${folder} holds ${more.length + 1} files, not one`)
  return join(folder, name)
}

/**
 * Runs a command as a person would, without a terminal.
 *
 * @param cwd its folder; without one, it runs in an empty folder, and fails if it leaves a file there
 */
export const runCli = (args: readonly string[], env: Record<string, string>, cwd?: string): Promise<Ran> =>
  inFolder(cwd, args, (folder) => runCliIn(folder, args, env))

/** Runs a command in a folder; without one, in an empty folder. @throws if it leaves a file in that */
export async function inFolder(
  cwd: string | undefined,
  args: readonly string[],
  run: (cwd: string) => Promise<Ran>,
): Promise<Ran> {
  if (cwd !== undefined) return run(cwd)
  const empty = await mkdtemp(join(tmpdir(), 'selvedge-cli-'))
  try {
    const ran = await run(empty)
    const left = readdirSync(empty)
    if (left.length > 0)
      throw new Error(`selvedge ${args.join(' ')} wrote ${left.join(', ')} into its folder`)
    return ran
  } finally {
    await rm(empty, { recursive: true, force: true })
  }
}

/** What a command with `--json` printed. @throws if it failed or wrote to standard error */
export async function jsonOf(ran: Promise<Ran>) {
  const { code, out, errors } = await ran
  if (code !== 0 || errors !== '') throw new Error(`the command exited with ${code}: ${errors}`)
  return JSON.parse(out)
}

function runCliIn(cwd: string, args: readonly string[], env: Record<string, string>): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [cliPath, ...args], { env, cwd }, (_, out, errors) =>
      resolve({ code: child.exitCode ?? -1, out, errors }),
    )
    child.stdin?.end()
  })
}
